import type { Logger } from 'pino';
import type { Stop } from '../../pool/fair-queue.js';
import type { ImageLimits } from '../../pool/image/engine.js';
import { createPool, type Pool } from '../../pool/pool.js';
import type { Config } from '../config.js';
import { helperUrl } from './package-paths.js';
import { poolPlugins, type Registry } from './registry.js';

export interface HelperPoolOptions {
  config: Config;
  /** Folders of plugins, and the helpers that are being loaded from them. */
  folders: string[];
  loading: Promise<Registry>;
  imageLimits: ImageLimits;
  /** Bytes of JSON that a handler may answer with. */
  maxJsonBytes: number;
  /** Why no task of this tenant may start. */
  stopOf: (tenant: string) => Stop | undefined;
  logger: Pick<Logger, 'error'>;
}

/** The pool in whose threads helpers run, by the gateway's configuration. */
export function createHelperPool(options: HelperPoolOptions): Pool {
  const { config, folders, loading, imageLimits, maxJsonBytes, stopOf, logger } = options;
  const helperModule = helperUrl(folders);
  return createPool({
    threads: config.poolThreads,
    queue: config.poolQueue,
    worker: {
      plugins: loading.then(poolPlugins),
      engine: config.imageEngine,
      limits: imageLimits,
      fonts: config.fonts,
      taskTimeoutMs: config.taskTimeoutMs,
      maxJsonBytes,
      ...(helperModule ? { helperUrl: helperModule } : {}),
    },
    onFault: (error) => logger.error({ err: error }, 'worker thread failed'),
    stopOf,
  });
}
