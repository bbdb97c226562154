import type { Logger } from 'pino';
import { once } from '../../pool/once.js';
import { importTimeoutMs } from '../../pool/plugin-module.js';
import type { Pool } from '../../pool/pool.js';
import type { WorkerReport, WorkerSettings } from '../../pool/task.js';
import type { Config } from '../config.js';
import type { Environment } from './helper-config.js';
import type { HelperShelf } from './live-registry.js';
import { vocabularyMaker } from './load-helpers.js';
import { logReload } from './log-reload.js';
import { helperUrl } from './package-paths.js';
import { createReload, type ReloadReport } from './reload.js';
import { createReloader, type Reloader } from './reloader.js';
import { createSpares } from './spare-threads.js';

/** Somebody writes helpers, and waits for them. */
export interface DevMode {
  /** Told what came of each reload, in place of the log. */
  onReload: (report: ReloadReport) => void;
}

export interface HelperReloadOptions {
  config: Config;
  /** Where plugins' configuration is set. */
  env: Environment;
  shelf: HelperShelf;
  pool: Pool;
  /** What the pool's first threads have found. */
  engine: WorkerReport;
  logger: Pick<Logger, 'info' | 'warn' | 'error'>;
  /** Threads load then what pictures need when the first comes, and an import may take less time. */
  dev: DevMode | undefined;
}

/** An import that takes longer is told to its author as a fault. */
const quickImportMs = 10_000;

/** Loads the helpers of the configuration's folders anew, when asked to. */
export function createHelperReload(options: HelperReloadOptions): Reloader {
  const { config, env, shelf, pool, engine, logger, dev } = options;
  const quick = dev !== undefined;
  const helper = helperUrl([...config.pluginDirs]);
  const maker = once(() => vocabularyMaker(config.fonts, () => engine.engine));
  const worker: Partial<WorkerSettings> = {
    ...(helper ? { helperUrl: helper } : {}),
    // Pictures are to look the same whichever threads they meet.
    engine: engine.engine,
    lean: quick,
  };
  const importMs = quick ? quickImportMs : importTimeoutMs;
  const inspector = { helperUrl: helper, timeoutMs: importMs };
  const spares = quick ? createSpares({ pool, worker, inspector }) : undefined;
  const reload = createReload({
    folders: config.pluginDirs,
    env,
    shelf,
    pool,
    first: pool.first,
    together: !quick,
    createVocabulary: async () => (await maker())(),
    worker,
    importMs,
    spares,
  });
  const reloader = createReloader({
    reload: (changed, signal) => reload(changed, signal).finally(() => spares?.refill()),
    onReport: dev?.onReload ?? logReload(logger),
    onFailure: (error) => logger.error({ err: error }, 'plugins could not be reloaded'),
  });
  return {
    reload: reloader.reload,
    async close() {
      await reloader.close();
      spares?.close();
    },
  };
}
