import { availableParallelism } from 'node:os';
import { integer, milliseconds } from './numbers.js';
import { paths } from './texts.js';
import type { Variables } from './variable.js';

const mostThreads = 256;

/** The variables of the plugins and of the threads that run them. */
export const poolVariables = {
  pluginDirs: {
    name: 'HELPER_PLUGINS',
    reader: 'pool',
    form: paths('folders'),
    default: '',
    description: 'More plugin folders.',
  },
  poolThreads: {
    name: 'HELPER_POOL_THREADS',
    reader: 'pool',
    form: integer({ min: 1, max: mostThreads }),
    default: { shown: 'cores', value: () => Math.min(mostThreads, availableParallelism()) },
    description: 'Worker threads; as many as there are cores if unset.',
  },
  poolQueue: {
    name: 'HELPER_POOL_QUEUE',
    reader: 'pool',
    form: integer({ min: 0, max: 100_000 }),
    default: '64',
    description: 'Tasks that may wait for a worker.',
  },
  taskTimeoutMs: {
    name: 'HELPER_TASK_TIMEOUT_MS',
    reader: 'pool',
    form: milliseconds({ min: 1, max: 3_600_000 }),
    default: '10000',
    description: 'Wall clock of one handler’s call.',
  },
} satisfies Variables;
