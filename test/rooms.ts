/**
 * The rooms of the house, lowest first, each with those that it may import. Of `gateway/` each folder is a room, and each
 * file at its root; beside them stand the other folders of the top level. A room may always import itself.
 */
export const rooms: Record<string, readonly string[]> = {
  schemas: [],
  pool: ['schemas'],

  'gateway/after.ts': [],
  'gateway/closers.ts': [],
  'gateway/errors.ts': ['schemas'],
  'gateway/config.ts': ['schemas'],
  'gateway/helper.ts': ['pool'],

  'gateway/database': ['gateway/errors.ts'],
  'gateway/keys': ['schemas', 'gateway/after.ts', 'gateway/errors.ts', 'gateway/database'],
  'gateway/usage': ['schemas', 'gateway/errors.ts', 'gateway/database'],
  'gateway/limits': ['schemas', 'gateway/after.ts', 'gateway/errors.ts', 'gateway/database', 'gateway/keys'],
  'gateway/http': ['schemas', 'gateway/errors.ts'],
  'gateway/helpers': ['schemas', 'pool', 'gateway/config.ts', 'gateway/helper.ts'],
  'gateway/source': ['schemas', 'gateway/errors.ts', 'gateway/http'],
  'gateway/metrics.ts': ['pool', 'gateway/http'],

  'gateway/pipeline': [
    'schemas',
    'pool',
    'gateway/after.ts',
    'gateway/errors.ts',
    'gateway/helper.ts',
    'gateway/keys',
    'gateway/usage',
    'gateway/limits',
    'gateway/http',
    'gateway/helpers',
    'gateway/source',
    'gateway/metrics.ts',
  ],
  'gateway/app.ts': [
    'pool',
    'gateway/keys',
    'gateway/limits',
    'gateway/http',
    'gateway/helpers',
    'gateway/source',
    'gateway/pipeline',
  ],
  // Shares the stores with the API and nothing else: not the pipeline, not the download.
  'gateway/site': [
    'schemas',
    'pool',
    'gateway/closers.ts',
    'gateway/errors.ts',
    'gateway/config.ts',
    'gateway/database',
    'gateway/keys',
    'gateway/usage',
    'gateway/http',
    'gateway/helpers',
    'gateway/metrics.ts',
  ],
  'gateway/migrations.ts': [
    'gateway/database',
    'gateway/keys',
    'gateway/usage',
    'gateway/limits',
    'gateway/site',
  ],
  'gateway/gateway.ts': [
    'schemas',
    'pool',
    'gateway/closers.ts',
    'gateway/config.ts',
    'gateway/database',
    'gateway/keys',
    'gateway/usage',
    'gateway/limits',
    'gateway/http',
    'gateway/helpers',
    'gateway/source',
    'gateway/metrics.ts',
    'gateway/pipeline',
    'gateway/app.ts',
    'gateway/site',
    'gateway/migrations.ts',
  ],
  'gateway/commands': [
    'schemas',
    'gateway/errors.ts',
    'gateway/config.ts',
    'gateway/database',
    'gateway/keys',
    'gateway/helpers',
    'gateway/site',
    'gateway/migrations.ts',
    'gateway/gateway.ts',
  ],
  'gateway/cli.ts': ['gateway/commands'],

  plugins: [],
};

/** The room of a file, by its path from the root. */
export function roomOf(file: string): string {
  const parts = file.split('/');
  return parts.slice(0, parts[0] === 'gateway' ? 2 : 1).join('/');
}
