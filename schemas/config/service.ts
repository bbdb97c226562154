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
  section,
  siteAddress,
  token,
  tokens,
} from './forms.js';

/** What a server may listen on. */
const port = integer({ min: 0, max: 65_535, note: '0 takes any free port' });

export const apiVariables = section('The API', {
  host: {
    name: 'HOST',
    form: host,
    default: '127.0.0.1',
    description: 'Address the API listens on.',
  },
  port: { name: 'PORT', form: port, default: '8080', description: 'Port of the API.' },
  corsOrigins: {
    name: 'HELPER_CORS_ORIGINS',
    form: originsOrAll,
    default: '',
    description: 'Web pages that may call the API from a browser.',
  },
  docs: {
    name: 'HELPER_DOCS',
    form: choice('on', 'off'),
    default: 'on',
    description: 'Whether /, /docs and /openapi.json describe the helpers to anybody who reaches the API.',
  },
  drainMs: {
    name: 'HELPER_DRAIN_MS',
    form: milliseconds({ min: 0, max: 600_000 }),
    default: '2000',
    description: 'How long calls are still served after SIGTERM, so that a balancer notices.',
  },
  clientKey: {
    name: 'HELPER_KEY',
    form: issuedKey,
    description: 'The API key of `call --server` without --key.',
  },
});

export const siteVariables = section('The key-management site', {
  connectHost: {
    name: 'CONNECT_HOST',
    form: host,
    default: '127.0.0.1',
    description: 'Address of the key-management site.',
  },
  connectPort: {
    name: 'CONNECT_PORT',
    form: port,
    default: '8081',
    description: 'Port of the key-management site and /metrics.',
  },
  apiUrl: {
    name: 'HELPER_API_URL',
    form: siteAddress,
    description:
      'The API’s address as customers see it, for the site’s curl lines and agents; where it listens if unset.',
  },
  connectUrl: {
    name: 'HELPER_CONNECT_URL',
    form: siteAddress,
    description: 'The site’s address as browsers see it; where it listens if unset.',
  },
  connectProxies: {
    name: 'HELPER_CONNECT_PROXIES',
    form: integer({ min: 0, max: 10 }),
    default: '0',
    description: 'Proxies in front of the site whose X-Forwarded-For is believed.',
  },
  operatorToken: {
    name: 'HELPER_OPERATOR_TOKEN',
    form: token,
    description: 'Bearer token for the key site’s JSON API and /metrics.',
  },
  oidcIssuer: {
    name: 'HELPER_OIDC_ISSUER',
    form: address('http', 'https'),
    description: 'Identity provider (OpenID Connect) for signing in to the site.',
  },
  oidcClientId: {
    name: 'HELPER_OIDC_CLIENT_ID',
    form: anyText,
    description: 'The site’s client id with the identity provider.',
  },
  oidcClientSecret: {
    name: 'HELPER_OIDC_CLIENT_SECRET',
    form: anyText,
    description: 'The site’s secret with the identity provider.',
  },
  oidcName: {
    name: 'HELPER_OIDC_NAME',
    form: anyText,
    default: 'single sign-on',
    description: 'What the site’s buttons call the identity provider.',
  },
});

export const databaseVariables = section('Database and Redis', {
  dataDir: {
    name: 'HELPER_DATA_DIR',
    form: folder,
    default: '.data',
    description: 'Folder of the embedded database.',
  },
  databaseUrl: {
    name: 'DATABASE_URL',
    form: address('postgres', 'postgresql'),
    description: 'PostgreSQL for keys and usage shared by several gateways.',
  },
  redisUrl: {
    name: 'REDIS_URL',
    form: address('redis', 'rediss'),
    description: 'Redis for limits shared by several gateways.',
  },
  keyCache: {
    name: 'HELPER_KEY_CACHE',
    form: integer({ min: 100, max: 1_000_000 }),
    default: '100000',
    description: 'Keys cached in memory; a call with any other waits for the database.',
  },
  usageDays: {
    name: 'HELPER_USAGE_DAYS',
    form: integer({ min: 1, max: 36_500 }),
    default: '400',
    description: 'Days that usage figures are stored.',
  },
});

export const pageVariables = section('Pictures on web pages', {
  signingSecret: {
    name: 'HELPER_SIGNING_SECRET',
    form: tokens,
    description:
      'Master secrets of signed urls and webhooks: the first signs, all verify. A file in the data folder if unset; required for signing with DATABASE_URL.',
  },
  cacheBytes: {
    name: 'HELPER_CACHE_BYTES',
    form: bytes({ min: 0, max: 1024 ** 4, such: '67108864, 64MB or 1GB; 0 keeps nothing' }),
    default: '64MB',
    description: 'Memory for cached answers and downloads, shared fairly by tenants.',
  },
  cacheTtlSeconds: {
    name: 'HELPER_CACHE_TTL',
    form: seconds({ min: 0, max: 31_536_000 }),
    default: '1h',
    description: 'How long browsers and CDNs may cache the answer of a signed url, at most.',
  },
});

export const operationVariables = section('Processes and traces', {
  processes: {
    name: 'HELPER_PROCESSES',
    form: integer({ min: 1, max: 64 }),
    default: '1',
    description:
      'Processes that `serve` on the same ports. Settings of threads, queue and memory are for each of them; the limits of a tenant are for all together.',
  },
  otlpUrl: {
    name: 'HELPER_OTLP_URL',
    form: address('http', 'https'),
    description: 'Where OpenTelemetry traces go, by OTLP over HTTP, such as http://collector:4318.',
  },
});

export const logVariables = section('The log', {
  logLevel: {
    name: 'LOG_LEVEL',
    form: choice('fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'),
    default: 'info',
    description: 'Least level that is logged.',
  },
});
