import type { Logger } from 'pino';
import type { ImageLimits } from '../../pool/image/engine.js';
import { createPool, type Pool, type PoolOptions } from '../../pool/pool.js';
import type { ThreadHooks, WorkerSettings } from '../../pool/task.js';
import type { Config } from '../config.js';
import { createHelperLog } from './helper-log.js';
import type { SlowSetupNotice } from './main-helpers.js';
import { helperUrl } from './paths.js';
import { type Environment, moduleOf, poolPlugins, type Registry } from './registry.js';

interface HelperPoolOptions
  extends Required<Pick<WorkerSettings, 'maxJsonBytes' | 'maxBodyBytes'> & Pick<PoolOptions, 'stopOf'>> {
  config: Config;
  /** Folders of plugins, and the helpers that are being loaded from them. */
  folders: string[];
  loading: Promise<Registry>;
  imageLimits: ImageLimits;
  logger: Logger;
  /** Where plugins' configuration is set. */
  env: Environment;
  /** Called where a start waits for a plugin's setup. */
  onSlowSetup: SlowSetupNotice;
  /** Has a plugin loaded when it is first called, not at the start. */
  onDemand?: boolean;
}

/** The pool in whose threads helpers run, by the gateway's configuration. */
export function createHelperPool(options: HelperPoolOptions): Pool {
  const { config, folders, imageLimits, maxJsonBytes, stopOf, logger, onSlowSetup, onDemand } = options;
  const helperModule = helperUrl(folders);
  const hooks: ThreadHooks = {
    onLog: createHelperLog(logger),
    onSlowSetup: ({ service, url }) => onSlowSetup(service, url),
  };
  return createPool({
    threads: config.poolThreads,
    spares: onDemand ? 0 : 1,
    queue: config.poolQueue,
    worker: {
      ...pluginsOf(options, hooks),
      engine: config.imageEngine,
      limits: imageLimits,
      fonts: config.fonts,
      taskTimeoutMs: config.taskTimeoutMs,
      maxJsonBytes,
      maxBodyBytes: options.maxBodyBytes,
      logLevel: logger.level,
      ...(helperModule ? { helperUrl: helperModule } : {}),
    },
    onSlowed(service, isSlowed) {
      if (isSlowed) logger.warn({ service }, 'a helper timed out again; its tasks run one at a time now');
      else logger.info({ service }, 'a helper has answered in time again; its tasks run side by side');
    },
    onFault: (error) => logger.error({ err: error }, 'worker thread failed'),
    stopOf,
  });
}

function pluginsOf(
  { loading, env, onDemand }: HelperPoolOptions,
  hooks: ThreadHooks,
): Pick<WorkerSettings, 'plugins' | 'hooks'> {
  if (!onDemand) return { plugins: loading.then((registry) => poolPlugins(registry, env)), hooks };
  let known: Registry = new Map();
  const note = (registry: Registry) => {
    known = registry;
  };
  // A failure is reported to those who wait for the helpers.
  loading.then(note, () => undefined);
  const find = (url: string) => {
    const helper = [...known.values()].find((each) => each.url === url);
    return helper && moduleOf(helper, env);
  };
  return { hooks: { ...hooks, onDemand: find } };
}
