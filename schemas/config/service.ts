import {
  address,
  anyText,
  bytes,
  choice,
  folder,
  host,
  integer,
  issuedKey,
  milliseconds,
  originsOrAll,
  seconds,
  siteAddress,
  token,
  tokens,
  type Variables,
} from './forms.js';

/** What a server may listen on. */
const port = integer({ min: 0, max: 65_535, note: '0 takes any free port' });

/** The API's own variables. */
export const apiVariables = {
  host: {
    name: 'HOST',
    reader: 'api',
    form: host,
    default: '127.0.0.1',
    description: 'Address the API listens on.',
  },
  port: { name: 'PORT', reader: 'api', form: port, default: '8080', description: 'Port of the API.' },
  corsOrigins: {
    name: 'HELPER_CORS_ORIGINS',
    reader: 'api',
    form: originsOrAll,
    default: '',
    description: 'Web pages that may call the API from a browser.',
  },
  docs: {
    name: 'HELPER_DOCS',
    reader: 'api',
    form: choice('on', 'off'),
    default: 'on',
    description:
      'Whether anybody who reaches the API may read about its helpers, at /, /docs and /openapi.json.',
  },
  drainMs: {
    name: 'HELPER_DRAIN_MS',
    reader: 'api',
    form: milliseconds({ min: 0, max: 600_000 }),
    default: '2000',
    description: 'How long calls are served on after SIGTERM, so that a balancer notices.',
  },
  clientKey: {
    name: 'HELPER_KEY',
    reader: 'api',
    form: issuedKey,
    description: 'The API key that `call --server` calls with, where --key names none.',
  },
} satisfies Variables;

/** The variables of the key-management site. */
export const siteVariables = {
  connectHost: {
    name: 'CONNECT_HOST',
    reader: 'site',
    form: host,
    default: '127.0.0.1',
    description: 'Address of the key-management site.',
  },
  connectPort: {
    name: 'CONNECT_PORT',
    reader: 'site',
    form: port,
    default: '8081',
    description: 'Port of the key-management site and /metrics.',
  },
  apiUrl: {
    name: 'HELPER_API_URL',
    reader: 'site',
    form: siteAddress,
    description:
      'The API’s address as customers see it: for the site’s curl lines, and the name that agents may call it by; where it listens if unset.',
  },
  connectUrl: {
    name: 'HELPER_CONNECT_URL',
    reader: 'site',
    form: siteAddress,
    description: 'The site’s address as people’s browsers see it; where it listens if unset.',
  },
  connectProxies: {
    name: 'HELPER_CONNECT_PROXIES',
    reader: 'site',
    form: integer({ min: 0, max: 10 }),
    default: '0',
    description: 'Proxies in front of the site whose X-Forwarded-For is believed.',
  },
  operatorToken: {
    name: 'HELPER_OPERATOR_TOKEN',
    reader: 'site',
    form: token,
    description: 'Bearer token for the key site’s JSON API and /metrics.',
  },
  oidcIssuer: {
    name: 'HELPER_OIDC_ISSUER',
    reader: 'site',
    form: address('http', 'https'),
    description:
      'Identity provider (OpenID Connect) for signing in to the site; with its client id and secret.',
  },
  oidcClientId: {
    name: 'HELPER_OIDC_CLIENT_ID',
    reader: 'site',
    form: anyText,
    description: 'What the identity provider knows the site by.',
  },
  oidcClientSecret: {
    name: 'HELPER_OIDC_CLIENT_SECRET',
    reader: 'site',
    form: anyText,
    description: 'The site’s secret with the identity provider.',
  },
  oidcName: {
    name: 'HELPER_OIDC_NAME',
    reader: 'site',
    form: anyText,
    default: 'single sign-on',
    description: 'What the site’s buttons call the identity provider.',
  },
} satisfies Variables;

/** The variables that say where things are kept, and how long. */
export const databaseVariables = {
  dataDir: {
    name: 'HELPER_DATA_DIR',
    reader: 'database',
    form: folder,
    default: '.data',
    description: 'Folder of the embedded database.',
  },
  databaseUrl: {
    name: 'DATABASE_URL',
    reader: 'database',
    form: address('postgres', 'postgresql'),
    description: 'PostgreSQL for keys and usage shared by several gateways.',
  },
  redisUrl: {
    name: 'REDIS_URL',
    reader: 'database',
    form: address('redis', 'rediss'),
    description: 'Redis for limits shared by several gateways.',
  },
  keyCache: {
    name: 'HELPER_KEY_CACHE',
    reader: 'database',
    form: integer({ min: 100, max: 1_000_000 }),
    default: '100000',
    description: 'Keys kept in memory; a call with any other waits for the database.',
  },
  usageDays: {
    name: 'HELPER_USAGE_DAYS',
    reader: 'database',
    form: integer({ min: 1, max: 36_500 }),
    default: '400',
    description: 'Days that usage figures are kept.',
  },
} satisfies Variables;

/** The variables of pictures on web pages: signed urls, and what is kept of answers. */
export const pageVariables = {
  signingSecret: {
    name: 'HELPER_SIGNING_SECRET',
    reader: 'pages',
    form: tokens,
    description:
      'Master secrets of signed urls and webhooks, separated by commas: the first signs, all verify. A file in the data folder if unset; needed for signing with DATABASE_URL.',
  },
  cacheBytes: {
    name: 'HELPER_CACHE_BYTES',
    reader: 'pages',
    form: bytes({ min: 0, max: 1024 ** 4, such: '67108864, 64MB or 1GB; 0 keeps nothing' }),
    default: '64MB',
    description: 'Memory for answers and downloads that may be used again, shared fairly by tenants.',
  },
  cacheTtlSeconds: {
    name: 'HELPER_CACHE_TTL',
    reader: 'pages',
    form: seconds({ min: 0, max: 31_536_000 }),
    default: '1h',
    description: 'How long browsers and CDNs may keep the answer of a signed url, at most.',
  },
} satisfies Variables;

/** The variables of the processes of a host, and of those who watch them. */
export const operationVariables = {
  processes: {
    name: 'HELPER_PROCESSES',
    reader: 'operations',
    form: integer({ min: 1, max: 64 }),
    default: '1',
    description:
      'Processes that `serve` on the same ports. Each has its own threads, queue and memory: what is set for these counts for one of them; the limits of a tenant hold for all together.',
  },
  otlpUrl: {
    name: 'HELPER_OTLP_URL',
    reader: 'operations',
    form: address('http', 'https'),
    description: 'Where OpenTelemetry traces go, by OTLP over HTTP, such as http://collector:4318.',
  },
} satisfies Variables;

/** The variables of the log. */
export const logVariables = {
  logLevel: {
    name: 'LOG_LEVEL',
    reader: 'log',
    form: choice('fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'),
    default: 'info',
    description: 'Least level that is logged.',
  },
} satisfies Variables;
