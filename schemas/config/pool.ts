import { availableParallelism } from 'node:os';
import { integer, milliseconds } from './numbers.js';
import { folders } from './texts.js';
import type { Variables } from './variable.js';

const mostThreads = 256;

function threadsFor(processes: number): number {
  return Math.max(1, Math.min(mostThreads, Math.floor(availableParallelism() / processes)));
}

/** The variables of the plugins and of the threads that run them. */
export const poolVariables = {
  pluginDirs: {
    name: 'HELPER_PLUGINS',
    reader: 'pool',
    form: folders,
    default: '',
    description: 'More plugin folders.',
  },
  poolThreads: {
    name: 'HELPER_POOL_THREADS',
    reader: 'pool',
    form: integer({ min: 1, max: mostThreads }),
    default: { shown: 'cores', value: (env) => threadsFor(Number(env.HELPER_PROCESSES) || 1) },
    description:
      'Worker threads of a process. If unset, as many as there are cores, divided by HELPER_PROCESSES: at least one each.',
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
