import type { Logger } from 'pino';
import type { StopReason } from '../../pool/fair-queue.js';
import type { ImageLimits } from '../../pool/image/engine.js';
import { createPool, type Pool } from '../../pool/pool.js';
import type { ThreadHooks, WorkerSettings } from '../../pool/task.js';
import type { Config } from '../config.js';
import { createHelperLog } from './helper-log.js';
import type { SlowSetupNotice } from './main-helpers.js';
import { helperUrl } from './paths.js';
import { type Environment, moduleOf, poolPlugins, type Registry } from './registry.js';

interface HelperPoolOptions {
  config: Config;
  /** Folders of plugins, and the helpers that are being loaded from them. */
  folders: string[];
  loading: Promise<Registry>;
  imageLimits: ImageLimits;
  /** Bytes of JSON that a handler may answer with. */
  maxJsonBytes: number;
  /** Bytes that one answer may have. */
  maxBodyBytes: number;
  /** Why no task of this tenant may start. */
  stopOf: (tenant: string) => StopReason | undefined;
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
  loading.then(
    (registry) => {
      known = registry;
    },
    // Reported to those who wait for the helpers.
    () => undefined,
  );
  const find = (url: string) => {
    const helper = [...known.values()].find((each) => each.url === url);
    return helper && moduleOf(helper, env);
  };
  return { hooks: { ...hooks, onDemand: find } };
}
