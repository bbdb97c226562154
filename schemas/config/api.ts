import { integer, milliseconds } from './numbers.js';
import { choice, host, issuedKey, originsOrAll } from './texts.js';
import type { Variables } from './variable.js';

/** What a server may listen on. */
export const port = integer({ min: 0, max: 65_535, note: '0 takes any free port' });

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
