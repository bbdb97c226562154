const text = { type: 'string', minLength: 1, maxLength: 4096 } as const;
const host = { type: 'string', pattern: '^[A-Za-z0-9.:_-]{1,255}$' } as const;
const port = { type: 'integer', minimum: 0, maximum: 65535 } as const;
const milliseconds = { type: 'integer', minimum: 1, maximum: 3_600_000 } as const;
const paths = { type: 'array', items: text, maxItems: 1000 } as const;
const origins = { type: 'array', items: text, maxItems: 1000 } as const;
const bytes = { type: 'integer', minimum: 1, maximum: 1024 ** 3 } as const;
const held = { type: 'integer', minimum: 1, maximum: 1024 ** 4 } as const;

/** JSON Schema of the gateway's configuration, once the environment's texts have been read. */
export const configSchema = {
  type: 'object',
  additionalProperties: false,
  required: [
    'host',
    'port',
    'connectHost',
    'connectPort',
    'connectProxies',
    'oidcName',
    'dataDir',
    'pluginDirs',
    'poolThreads',
    'poolQueue',
    'drainMs',
    'imageEngine',
    'taskTimeoutMs',
    'sourceOrigins',
    'sourceTimeoutMs',
    'maxImageBytes',
    'maxPixels',
    'maxFrames',
    'maxTextBytes',
    'arriving',
    'inputBytes',
    'outputBytes',
    'fonts',
    'rate',
    'burst',
    'redisOutageShare',
    'usageDays',
    'corsOrigins',
    'logLevel',
  ],
  properties: {
    host,
    port,
    connectHost: host,
    connectPort: port,
    apiUrl: { type: 'string', pattern: '^https?://[^/]+/?$', maxLength: 4096 },
    connectUrl: { type: 'string', pattern: '^https?://[^/]+/?$', maxLength: 4096 },
    connectProxies: { type: 'integer', minimum: 0, maximum: 10 },
    oidcIssuer: { type: 'string', pattern: '^https?://.', maxLength: 4096 },
    oidcClientId: text,
    oidcClientSecret: text,
    oidcName: text,
    dataDir: text,
    databaseUrl: { type: 'string', pattern: '^postgres(ql)?://.', maxLength: 4096 },
    redisUrl: { type: 'string', pattern: '^rediss?://.', maxLength: 4096 },
    pluginDirs: paths,
    poolThreads: { type: 'integer', minimum: 1, maximum: 256 },
    drainMs: { type: 'integer', minimum: 0, maximum: 600_000 },
    poolQueue: { type: 'integer', minimum: 0, maximum: 100_000 },
    imageEngine: { type: 'string', enum: ['auto', 'sharp', 'jimp'] },
    taskTimeoutMs: milliseconds,
    sourceOrigins: origins,
    sourceTimeoutMs: milliseconds,
    maxImageBytes: bytes,
    maxPixels: { type: 'integer', minimum: 1, maximum: 1_000_000_000 },
    maxFrames: { type: 'integer', minimum: 1, maximum: 100_000 },
    maxTextBytes: bytes,
    arriving: { type: 'integer', minimum: 2, maximum: 100_000 },
    inputBytes: held,
    outputBytes: held,
    fonts: paths,
    rate: { type: 'integer', minimum: 0, maximum: 1_000_000 },
    burst: { type: 'integer', minimum: 0, maximum: 1_000_000 },
    monthlyQuota: { type: 'integer', minimum: 0, maximum: 1_000_000_000_000 },
    inFlight: { type: 'integer', minimum: 1, maximum: 10_000 },
    redisOutageShare: { type: 'number', exclusiveMinimum: 0, maximum: 1 },
    usageDays: { type: 'integer', minimum: 1, maximum: 36_500 },
    corsOrigins: origins,
    operatorToken: { type: 'string', pattern: '^[\\x21-\\x7e]{16,1024}$' },
    logLevel: { type: 'string', enum: ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'] },
  },
} as const;

type Setting<S> = S extends { enum: readonly (infer E)[] }
  ? E
  : S extends { type: 'array' }
    ? readonly string[]
    : S extends { type: 'string' }
      ? string
      : number;

type Settings = typeof configSchema.properties;
type Optional =
  | 'databaseUrl'
  | 'redisUrl'
  | 'operatorToken'
  | 'apiUrl'
  | 'oidcIssuer'
  | 'oidcClientId'
  | 'oidcClientSecret'
  | 'connectUrl'
  | 'monthlyQuota'
  | 'inFlight';

/**
 * The configuration, frozen. Times are milliseconds, sizes bytes, `maxPixels` width × height × frames, `rate` requests
 * a second (0 is no limit), origins `scheme://host[:port]` as URL writes them; `corsOrigins` may be `['*']`.
 */
export type Config = Readonly<
  { [K in Exclude<keyof Settings, Optional>]: Setting<Settings[K]> } & {
    [K in Optional]?: Setting<Settings[K]>;
  }
>;
