import type { Logger } from 'pino';
import { openTogether } from '../closers.js';
import type { Config } from '../config.js';
import type { Environment } from '../helpers/helper-config.js';
import { inWorkers } from './in-workers.js';
import { lazyPool } from './lazy-pool.js';
import { createLocalHelpers, type LocalHelpers } from './local-helpers.js';
import { openWork, type WorkOptions } from './work.js';

export interface LocalOptions extends Pick<WorkOptions, 'guardSource' | 'onProblem'> {
  /** Has whatever a plugin does done by worker threads, where its deadline can end it. They take longer to start than most calls. */
  allInWorkers?: boolean;
}

/**
 * Opens the helpers of the configuration's folders in this process, with worker threads and the guarded download, but without
 * a server or a database. Throws what a start throws, with everything closed again.
 */
export async function openLocalHelpers(
  config: Config,
  logger: Logger,
  env: Environment = process.env,
  { guardSource, onProblem, allInWorkers = false }: LocalOptions = {},
): Promise<LocalHelpers> {
  return openTogether(async (closers) => {
    // Nobody is to find here what an earlier call has brought: who tests a helper has it work each time.
    const local = { ...config, cacheBytes: 0 };
    const work = openWork({ config: local, logger, closers, env, guardSource, onProblem, onDemand: true });
    return createLocalHelpers({
      ...work,
      registry: allInWorkers ? inWorkers(await work.loading) : await work.loading,
      pool: lazyPool(work.pool),
      close: () => closers.close(),
    });
  });
}
