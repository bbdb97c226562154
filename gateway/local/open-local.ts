import type { Logger } from 'pino';
import { Closers } from '../closers.js';
import type { Config } from '../config.js';
import type { Environment } from '../helpers/helper-config.js';
import { lazyPool } from './lazy-pool.js';
import { createLocalHelpers, type LocalHelpers } from './local-helpers.js';
import { openWork, type WorkOptions } from './work.js';

/**
 * Opens the helpers of the configuration's folders in this process, with worker threads and the guarded download, but without
 * a server or a database. Throws what a start throws, with everything closed again.
 */
export async function openLocalHelpers(
  config: Config,
  logger: Logger,
  env: Environment = process.env,
  { guardSource }: Pick<WorkOptions, 'guardSource'> = {},
): Promise<LocalHelpers> {
  const closers = new Closers();
  try {
    const work = openWork({ config, logger, closers, env, guardSource, onDemand: true });
    return createLocalHelpers({
      ...work,
      registry: await work.loading,
      pool: lazyPool(work.pool),
      close: () => closers.close(),
    });
  } catch (error) {
    await closers.close();
    throw error;
  }
}
