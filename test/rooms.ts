/** What is known of who calls, and what they may use. */
const tenants = ['gateway/keys', 'gateway/usage', 'gateway/limits'];
/** A call’s way. */
const calls = ['gateway/http', 'gateway/helpers', 'gateway/source', 'gateway/pipeline'];

/**
 * The rooms of the house, lowest first, each with those that it may import. Of `gateway/` each folder is a room, and each
 * file at its root; beside them stand the other folders of the top level. A room may always import itself.
 */
export const rooms: Record<string, readonly string[]> = {
  schemas: [],
  pool: ['schemas'],

  'gateway/after.ts': [],
  'gateway/at-most.ts': [],
  'gateway/closers.ts': [],
  'gateway/errors.ts': ['schemas'],
  'gateway/make-folder.ts': [],
  'gateway/write-problem.ts': [],
  'gateway/config.ts': ['schemas'],
  // The types of what a plugin declares, gets and answers.
  'gateway/contract': ['pool'],
  'gateway/helper.ts': ['pool', 'gateway/contract'],

  // Signed urls: what is signed, and by which secret.
  'gateway/signing': ['schemas', 'gateway/errors.ts', 'gateway/make-folder.ts'],
  // What is kept of answers and downloads.
  'gateway/cache': ['pool', 'gateway/after.ts'],
  'gateway/database': ['gateway/errors.ts', 'gateway/make-folder.ts'],
  'gateway/keys': ['schemas', 'gateway/after.ts', 'gateway/errors.ts', 'gateway/database', 'gateway/signing'],
  'gateway/usage': ['schemas', 'gateway/errors.ts', 'gateway/database'],
  'gateway/limits': ['schemas', 'gateway/after.ts', 'gateway/errors.ts', 'gateway/database', 'gateway/keys'],
  'gateway/http': ['schemas', 'gateway/errors.ts'],
  'gateway/helpers': ['schemas', 'pool', 'gateway/config.ts', 'gateway/helper.ts'],
  // A call step by step, for those who trace it.
  'gateway/tracing': ['gateway/closers.ts'],
  'gateway/source': ['schemas', 'gateway/errors.ts', 'gateway/http', 'gateway/cache', 'gateway/tracing'],
  'gateway/metrics': ['pool', 'gateway/http', 'gateway/cache'],

  'gateway/pipeline': [
    'schemas',
    'pool',
    'gateway/after.ts',
    'gateway/errors.ts',
    'gateway/helper.ts',
    'gateway/http',
    'gateway/helpers',
    'gateway/source',
    'gateway/signing',
    'gateway/cache',
    'gateway/metrics',
    'gateway/tracing',
    ...tenants,
  ],
  // Several processes of one host.
  'gateway/processes': ['pool', 'gateway/config.ts', 'gateway/keys', 'gateway/limits', 'gateway/metrics'],
  // Work that need not be answered at once.
  'gateway/jobs': [
    'schemas',
    'pool',
    'gateway/after.ts',
    'gateway/at-most.ts',
    'gateway/closers.ts',
    'gateway/errors.ts',
    'gateway/config.ts',
    'gateway/make-folder.ts',
    'gateway/database',
    'gateway/signing',
    'gateway/cache',
    'gateway/metrics',
    'gateway/tracing',
    ...tenants,
    ...calls,
  ],
  // What is made from the helpers for people and programs to read.
  'gateway/docs': [
    'schemas',
    'pool',
    'gateway/after.ts',
    'gateway/errors.ts',
    'gateway/config.ts',
    'gateway/http',
    'gateway/helpers',
    'gateway/pipeline',
    'gateway/jobs',
  ],
  // The helpers in this process, without a server or a database.
  'gateway/local': [
    'schemas',
    'pool',
    'gateway/closers.ts',
    'gateway/errors.ts',
    'gateway/config.ts',
    'gateway/cache',
    ...calls,
  ],
  // The helpers as tools of agents.
  'gateway/mcp': [
    'schemas',
    'pool',
    'gateway/after.ts',
    'gateway/errors.ts',
    'gateway/write-problem.ts',
    'gateway/keys',
    'gateway/http',
    'gateway/helpers',
    'gateway/pipeline',
    'gateway/local',
    'gateway/docs',
  ],
  'gateway/app.ts': [
    'pool',
    'gateway/jobs',
    'gateway/after.ts',
    'gateway/cache',
    'gateway/signing',
    'gateway/keys',
    'gateway/limits',
    'gateway/docs',
    'gateway/mcp',
    ...calls,
  ],
  // Helpers in their authors' own tests.
  'gateway/testing': [
    'schemas',
    'pool',
    'gateway/errors.ts',
    'gateway/config.ts',
    'gateway/contract',
    'gateway/local',
    ...calls,
  ],
  'gateway/testing.ts': ['gateway/testing'],
  // Shares the stores with the API and nothing else: not the pipeline, not the download.
  'gateway/site': [
    'schemas',
    'pool',
    'gateway/closers.ts',
    'gateway/errors.ts',
    'gateway/config.ts',
    'gateway/database',
    'gateway/signing',
    'gateway/keys',
    'gateway/usage',
    'gateway/jobs',
    'gateway/http',
    'gateway/helpers',
    'gateway/metrics',
  ],
  'gateway/migrations.ts': ['gateway/database', 'gateway/jobs', 'gateway/site', ...tenants],
  // What serving gateways and workers have in common.
  'gateway/core.ts': [
    'pool',
    'gateway/closers.ts',
    'gateway/config.ts',
    'gateway/database',
    'gateway/signing',
    'gateway/helpers',
    'gateway/local',
    'gateway/pipeline',
    'gateway/tracing',
    'gateway/migrations.ts',
    ...tenants,
  ],
  'gateway/gateway.ts': [
    'pool',
    'gateway/closers.ts',
    'gateway/config.ts',
    'gateway/core.ts',
    'gateway/jobs',
    'gateway/keys',
    'gateway/limits',
    'gateway/processes',
    'gateway/http',
    'gateway/helpers',
    'gateway/metrics',
    'gateway/pipeline',
    'gateway/docs',
    'gateway/app.ts',
    'gateway/site',
  ],
  'gateway/worker-app.ts': [
    'gateway/http',
    'gateway/metrics',
    'gateway/pipeline',
    'gateway/site',
    'gateway/usage',
  ],
  'gateway/worker.ts': [
    'pool',
    'gateway/closers.ts',
    'gateway/config.ts',
    'gateway/core.ts',
    'gateway/jobs',
    'gateway/http',
    'gateway/helpers',
    'gateway/metrics',
    'gateway/pipeline',
    'gateway/processes',
    'gateway/worker-app.ts',
  ],
  'gateway/commands': [
    'gateway/at-most.ts',
    'schemas',
    'pool',
    'gateway/errors.ts',
    'gateway/config.ts',
    'gateway/make-folder.ts',
    'gateway/write-problem.ts',
    'gateway/database',
    'gateway/signing',
    'gateway/keys',
    'gateway/processes',
    'gateway/helpers',
    'gateway/http',
    'gateway/source',
    'gateway/local',
    'gateway/docs',
    'gateway/mcp',
    'gateway/site',
    'gateway/migrations.ts',
    'gateway/gateway.ts',
    'gateway/worker.ts',
  ],
  'gateway/cli.ts': ['gateway/helpers', 'gateway/commands'],

  plugins: [],
};

/** The room of a file, by its path from the root. */
export function roomOf(file: string): string {
  const parts = file.split('/');
  return parts.slice(0, parts[0] === 'gateway' ? 2 : 1).join('/');
}
