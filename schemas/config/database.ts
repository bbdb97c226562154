import { integer } from './numbers.js';
import { address, folder } from './texts.js';
import type { Variables } from './variable.js';

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
