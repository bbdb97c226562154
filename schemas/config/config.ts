import { availableParallelism } from 'node:os';
import {
  address,
  anyText,
  bytes,
  choice,
  count,
  type Form,
  folder,
  folders,
  host,
  integer,
  issuedKey,
  milliseconds,
  origins,
  originsOrAll,
  paths,
  pixels,
  plainText,
  seconds,
  share,
  siteAddress,
  token,
  tokens,
  web,
} from './forms.js';

/** A default that depends on the host. */
interface HostDefault {
  /** What the README calls it. */
  shown: string;
  value(env: Readonly<Record<string, string | undefined>>): unknown;
}

/**
 * One environment variable. All that is said about it stands here alone: configuration, its type and schema, messages and
 * README are made from it.
 */
export interface Variable<T = unknown, Default = string | HostDefault | undefined> {
  name: string;
  /** The heading of the README's table that it stands in. */
  section: string;
  form: Form<T>;
  description: string;
  /** As it would be written in the environment. The setting of a variable without one is optional. */
  default: Default;
}

type Unplaced<V> = Omit<V, 'section'>;

function variable<T, Default extends string | HostDefault | undefined = undefined>(
  name: string,
  form: Form<T>,
  preset?: Default,
) {
  return {
    describe(description: string): Unplaced<Variable<T, Default>> {
      return { name, form, description, default: preset as Default };
    },
  };
}

/** The variables of one section, by the names that their settings have in the configuration. */
function section<Named extends Record<string, Unplaced<Variable>>>(title: string, named: Named) {
  const entries = Object.entries(named).map(([setting, each]) => [setting, { ...each, section: title }]);
  return Object.fromEntries(entries) as { [Setting in keyof Named]: Named[Setting] & { section: string } };
}

/** What a server may listen on. */
const port = integer({ min: 0, max: 65_535, note: '0 takes any free port' });
const gigabyte = 1024 ** 3;
const size = bytes({ max: gigabyte, such: '10485760, 10MB or 512KB (1 KB is 1024 bytes)' });
const memory = bytes({ max: 1024 * gigabyte, such: '268435456, 256MB or 1GB' });
const stored = bytes({ max: 1024 ** 2 * gigabyte, such: '1GB or 200GB' });
const mostThreads = 256;

const cores: HostDefault = {
  shown: 'cores',
  value({ HELPER_PROCESSES }) {
    const threads = Math.floor(availableParallelism() / (Number(HELPER_PROCESSES) || 1));
    return Math.max(1, Math.min(mostThreads, threads));
  },
};

/** What each limit of a tenant may be, by its name in the API: a whole number, both bounds included. */
export const limitBounds = {
  rate: { min: 0, max: 1_000_000 },
  burst: { min: 0, max: 1_000_000 },
  monthly_quota: { min: 0, max: 1_000_000_000_000 },
  in_flight: { min: 1, max: 10_000 },
  monthly_cpu_ms: { min: 0, max: 1_000_000_000_000 },
} as const;

const settings = {
  ...section('The API', {
    host: variable('HOST', host, '127.0.0.1').describe('Address the API listens on.'),
    port: variable('PORT', port, '8080').describe('Port of the API.'),
    corsOrigins: variable('HELPER_CORS_ORIGINS', originsOrAll, '').describe(
      'Web pages that may call the API from a browser.',
    ),
    docs: variable('HELPER_DOCS', choice('on', 'off'), 'on').describe(
      'Whether /, /docs and /openapi.json describe the helpers to anybody who reaches the API.',
    ),
    drainMs: variable('HELPER_DRAIN_MS', milliseconds({ min: 0, max: 600_000 }), '2000').describe(
      'How long calls are still served after SIGTERM, so that a balancer notices.',
    ),
    clientKey: variable('HELPER_KEY', issuedKey).describe('The API key of `call --server` without --key.'),
  }),
  ...section('The key-management site', {
    connectHost: variable('CONNECT_HOST', host, '127.0.0.1').describe('Address of the key-management site.'),
    connectPort: variable('CONNECT_PORT', port, '8081').describe(
      'Port of the key-management site and /metrics.',
    ),
    apiUrl: variable('HELPER_API_URL', siteAddress).describe(
      'The API’s address as customers see it, for the site’s curl lines and agents; where it listens if unset.',
    ),
    connectUrl: variable('HELPER_CONNECT_URL', siteAddress).describe(
      'The site’s address as browsers see it; where it listens if unset.',
    ),
    connectProxies: variable('HELPER_CONNECT_PROXIES', integer({ min: 0, max: 10 }), '0').describe(
      'Proxies in front of the site whose X-Forwarded-For is believed.',
    ),
    operatorToken: variable('HELPER_OPERATOR_TOKEN', token).describe(
      'Bearer token for the key site’s JSON API and /metrics.',
    ),
    secondFactor: variable(
      'HELPER_SECOND_FACTOR',
      choice('optional', 'operators', 'all'),
      'optional',
    ).describe(
      'Whose account on the site needs a second factor: of nobody, of operators and support, or of everybody.',
    ),
    oidcIssuer: variable('HELPER_OIDC_ISSUER', web).describe(
      'Identity provider (OpenID Connect) for signing in to the site.',
    ),
    oidcClientId: variable('HELPER_OIDC_CLIENT_ID', anyText).describe(
      'The site’s client id with the identity provider.',
    ),
    oidcClientSecret: variable('HELPER_OIDC_CLIENT_SECRET', anyText).describe(
      'The site’s secret with the identity provider.',
    ),
    oidcName: variable('HELPER_OIDC_NAME', anyText, 'single sign-on').describe(
      'What the site’s buttons call the identity provider.',
    ),
  }),
  ...section('Database and Redis', {
    dataDir: variable('HELPER_DATA_DIR', folder, '.data').describe('Folder of the embedded database.'),
    databaseUrl: variable('DATABASE_URL', address('postgres', 'postgresql')).describe(
      'PostgreSQL for keys and usage shared by several gateways.',
    ),
    redisUrl: variable('REDIS_URL', address('redis', 'rediss')).describe(
      'Redis for limits shared by several gateways.',
    ),
    keyCache: variable('HELPER_KEY_CACHE', integer({ min: 100, max: 1_000_000 }), '100000').describe(
      'Keys cached in memory; a call with any other waits for the database.',
    ),
    usageDays: variable('HELPER_USAGE_DAYS', integer({ min: 1, max: 36_500 }), '400').describe(
      'Days that usage figures are stored.',
    ),
    requests: variable(
      'HELPER_REQUESTS',
      integer({ min: 0, max: 10_000, note: '0 stores none' }),
      '1000',
    ).describe('Last calls of a tenant that are stored, with their request ids and without input.'),
    requestsTtlSeconds: variable(
      'HELPER_REQUESTS_TTL',
      seconds({ min: 60, max: 31_536_000 }),
      '24h',
    ).describe('How long such a call is shown at most; it is deleted within a day after.'),
  }),
  ...section('Plugins and the pool', {
    pluginDirs: variable('HELPER_PLUGINS', folders, '').describe('More plugin folders.'),
    poolThreads: variable('HELPER_POOL_THREADS', integer({ min: 1, max: mostThreads }), cores).describe(
      'Worker threads of a process. If unset, the number of cores divided by HELPER_PROCESSES, at least one.',
    ),
    poolQueue: variable('HELPER_POOL_QUEUE', integer({ min: 0, max: 100_000 }), '64').describe(
      'Tasks that may wait for a worker.',
    ),
    taskTimeoutMs: variable(
      'HELPER_TASK_TIMEOUT_MS',
      milliseconds({ min: 1, max: 3_600_000 }),
      '10000',
    ).describe('Wall clock of one handler’s call.'),
  }),
  ...section('Pictures and text', {
    imageEngine: variable('HELPER_IMAGE_ENGINE', choice('auto', 'sharp', 'jimp'), 'auto').describe(
      'What draws pictures.',
    ),
    maxImageBytes: variable('HELPER_MAX_IMAGE_BYTES', size, '10MB').describe('Largest download or upload.'),
    maxPixels: variable('HELPER_MAX_PIXELS', pixels({ min: 1, max: 1_000_000_000 }), '40M').describe(
      'Width × height × frames of a picture, in and out.',
    ),
    maxFrames: variable('HELPER_MAX_FRAMES', count({ min: 1, max: 100_000 }), '250').describe(
      'Frames of an animated picture.',
    ),
    maxTextBytes: variable('HELPER_MAX_TEXT_BYTES', size, '1MB').describe(
      'Largest body of a JSON or form request.',
    ),
    sourceOrigins: variable('HELPER_SOURCE_ORIGINS', origins, '').describe(
      'Origins that are fetched although they are not public.',
    ),
    sourceTimeoutMs: variable(
      'HELPER_SOURCE_TIMEOUT_MS',
      milliseconds({ min: 1, max: 3_600_000 }),
      '10000',
    ).describe('Total time of a download, and of an attempt to call a webhook (15 s at most).'),
    fonts: variable('HELPER_FONTS', paths('font files or folders'), '').describe(
      'More fonts for watermarks, tried in order after the shipped one.',
    ),
  }),
  ...section('Pictures on web pages', {
    signingSecret: variable('HELPER_SIGNING_SECRET', tokens).describe(
      'Master secrets of signed urls and webhooks: the first signs, all verify. A file in the data folder if unset; required for signing with DATABASE_URL.',
    ),
    cacheBytes: variable(
      'HELPER_CACHE_BYTES',
      bytes({ min: 0, max: 1024 * gigabyte, such: '67108864, 64MB or 1GB; 0 keeps nothing' }),
      '64MB',
    ).describe('Memory for cached answers and downloads, shared fairly by tenants.'),
    cacheTtlSeconds: variable('HELPER_CACHE_TTL', seconds({ min: 0, max: 31_536_000 }), '1h').describe(
      'How long browsers and CDNs may cache the answer of a signed url, at most.',
    ),
  }),
  ...section('Jobs and workers', {
    jobs: variable('HELPER_JOBS', choice('on', 'off'), 'on').describe(
      'Whether `serve` works on job items when no call needs a thread; `off` leaves them to `work`.',
    ),
    jobTtlSeconds: variable('HELPER_JOB_TTL', seconds({ min: 1, max: 31_536_000 }), '24h').describe(
      'How long a job and its results are stored after its end.',
    ),
    maxJobBytes: variable(
      'HELPER_MAX_JOB_BYTES',
      bytes({ max: gigabyte, such: '67108864, 64MB or 1GB' }),
      '64MB',
    ).describe('Largest body of a new job, all its files together.'),
    maxOpenJobBytes: variable('HELPER_MAX_OPEN_JOB_BYTES', stored, '10GB').describe(
      "Files and inputs of a tenant's unfinished jobs (at least 64 KB a job and 1 KB an item); past it a new job is `tenant_busy`.",
    ),
    maxResultBytes: variable('HELPER_MAX_RESULT_BYTES', stored, '10GB').describe(
      "Stored results of a tenant's jobs; past it a new job is `tenant_busy`, and items under way fail with `too_large`.",
    ),
    webhookOrigins: variable('HELPER_WEBHOOK_ORIGINS', origins, '').describe(
      'Origins that webhooks of any tenant may be sent to although they are not public. HELPER_SOURCE_ORIGINS is for downloads alone.',
    ),
    noticesUrl: variable('HELPER_NOTICES_URL', web).describe(
      'Where every notice of every tenant is sent, by the rules of webhooks; nowhere if unset.',
    ),
    resultsUrl: variable('HELPER_RESULTS_URL', address('s3')).describe(
      'Store of the files and results of jobs, such as s3://bucket/prefix?endpoint=https://minio.example:9000&region=eu-central-1; the data folder if unset. Several hosts need it, or a shared data folder.',
    ),
    awsAccessKeyId: variable('AWS_ACCESS_KEY_ID', plainText).describe(
      'Access key of the S3 store; required with HELPER_RESULTS_URL.',
    ),
    awsSecretAccessKey: variable('AWS_SECRET_ACCESS_KEY', plainText).describe(
      'Secret of the access key; required with HELPER_RESULTS_URL.',
    ),
    awsSessionToken: variable('AWS_SESSION_TOKEN', plainText).describe(
      'Session token of a temporary access key.',
    ),
    awsRegion: variable('AWS_REGION', plainText).describe(
      'Region of the bucket; `?region=` in HELPER_RESULTS_URL overrides it.',
    ),
    awsDefaultRegion: variable('AWS_DEFAULT_REGION', plainText).describe(
      'Region of the bucket where AWS_REGION is unset.',
    ),
    awsEndpointUrlS3: variable('AWS_ENDPOINT_URL_S3', web).describe(
      'Address of an S3 store other than AWS; `?endpoint=` in HELPER_RESULTS_URL overrides it.',
    ),
    awsEndpointUrl: variable('AWS_ENDPOINT_URL', web).describe(
      'The same where AWS_ENDPOINT_URL_S3 is unset.',
    ),
    workPort: variable('HELPER_WORK_PORT', integer({ min: 0, max: 65_535 })).describe(
      'Port on HOST for `work`’s /healthz, /readyz and /metrics; none if unset.',
    ),
  }),
  ...section('Inbound and outbound budgets', {
    arriving: variable('HELPER_ARRIVING', integer({ min: 2, max: 100_000 }), '2000').describe(
      'Bodies and downloads in transfer at a time; half of them for one tenant.',
    ),
    inputBytes: variable('HELPER_INPUT_BYTES', memory, '256MB').describe(
      'Memory for bodies and downloads, in transfer and waiting; half of it for one tenant.',
    ),
    outputBytes: variable('HELPER_OUTPUT_BYTES', memory, '256MB').describe(
      'Memory for answers that clients have not read yet; half of it for one tenant.',
    ),
  }),
  ...section('Limits of a tenant', {
    rate: variable('HELPER_RATE', integer({ ...limitBounds.rate, note: '0 is no limit' }), '50').describe(
      'Requests a second of a tenant for which nothing else is set.',
    ),
    burst: variable('HELPER_BURST', integer(limitBounds.burst), '0').describe(
      'Requests beyond the rate that a tenant may spend within ten seconds.',
    ),
    monthlyQuota: variable('HELPER_MONTHLY_QUOTA', integer(limitBounds.monthly_quota)).describe(
      'Answered calls of a tenant in a calendar month (UTC); no quota if unset.',
    ),
    monthlyCpuMs: variable('HELPER_MONTHLY_CPU_MS', integer(limitBounds.monthly_cpu_ms)).describe(
      'CPU time in ms that the calls of a tenant may cost in a calendar month (UTC); no budget if unset.',
    ),
    inFlight: variable('HELPER_IN_FLIGHT', integer(limitBounds.in_flight)).describe(
      'Pool tasks of a tenant, waiting or running, in one gateway; no limit if unset.',
    ),
    redisOutageShare: variable('HELPER_REDIS_OUTAGE_SHARE', share, '0.5').describe(
      'Share of each rate and burst that a gateway allows while Redis is away.',
    ),
  }),
  ...section('Processes and traces', {
    processes: variable('HELPER_PROCESSES', integer({ min: 1, max: 64 }), '1').describe(
      'Processes that `serve` on the same ports. Settings of threads, queue and memory are for each of them; the limits of a tenant are for all together.',
    ),
    otlpUrl: variable('HELPER_OTLP_URL', web).describe(
      'Where OpenTelemetry traces go, by OTLP over HTTP, such as http://collector:4318.',
    ),
  }),
  ...section('The log', {
    logLevel: variable(
      'LOG_LEVEL',
      choice('fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'),
      'info',
    ).describe('Least level that is logged.'),
  }),
};

type Settings = typeof settings;
type Value<S extends keyof Settings> = Settings[S]['form'] extends Form<infer T> ? T : never;
/** What the environment need not hold, because there is a default. */
type Preset = { [S in keyof Settings]: Settings[S]['default'] extends undefined ? never : S }[keyof Settings];

/**
 * The configuration, frozen: a setting for each variable, undefined where it has no default and is not set. Times are
 * milliseconds, sizes bytes, `maxPixels` width × height × frames, `rate` requests a second (0 is no limit), origins
 * `scheme://host[:port]` as URL writes them; `corsOrigins` may be `['*']`.
 */
export type Config = Readonly<
  { [S in Preset]: Value<S> } & { [S in Exclude<keyof Settings, Preset>]?: Value<S> }
>;

/** Every variable that the gateway reads, with the name of its setting. */
export const variables: readonly (Variable & { setting: string })[] = Object.entries<Variable>(settings).map(
  ([setting, each]) => ({ setting, ...each }),
);

/** Variables of which all are set, or none. */
export const together: readonly (readonly Variable[])[] = [
  [settings.oidcIssuer, settings.oidcClientId, settings.oidcClientSecret],
];
