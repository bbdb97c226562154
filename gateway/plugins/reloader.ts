import type { Logger } from 'pino';
import { once } from '../../pool/once.js';
import { importTimeoutMs } from '../../pool/plugin.js';
import type { Pool } from '../../pool/pool.js';
import type { WorkerReport, WorkerSettings } from '../../pool/task.js';
import type { Config } from '../config.js';
import { vocabularyMaker } from './load-helpers.js';
import { helperUrl } from './paths.js';
import type { Environment, HelperShelf } from './registry.js';
import { createReload, type Reload, type ReloadReport } from './reload.js';
import { createSpares } from './spare-threads.js';

/** Somebody writes helpers, and waits for them. */
export interface DevMode {
  /** Told what came of each reload, in place of the log. */
  onReload: (report: ReloadReport) => void;
}

interface HelperReloadOptions {
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

/** Reloads one after another, however the wishes come. */
interface Reloader {
  /**
   * Loads anew what a change of these files concerns, or everything; resolves when no wish is left, and never
   * rejects. Wishes that come while it works are met together.
   */
  reload(changed?: Iterable<string>): Promise<void>;
  /** Gives up what is under way. */
  close(): Promise<void>;
}

interface ReloaderOptions {
  reload: Reload;
  onReport: (report: ReloadReport) => void;
  /** Told where a reload could not be done at all. */
  onFailure: (error: unknown) => void;
  /** A reload that has taken so long gives way to a newer wish: it may wait for an import that never ends, and is mended by now. */
  patienceMs?: number;
}

/** Files that have changed, or everything. */
type Wish = ReadonlySet<string> | 'all';

/** A reload gives way so often at most before all are done together: files that change all the time must not stop the rest. */
const mostGivings = 10;

/**
 * Makes a reloader. One that takes long gives way to a newer wish, which is met alone, and is done after it: a slow `setup` of one helper
 * holds up no other.
 */
export function createReloader(options: ReloaderOptions): Reloader {
  const { reload, onReport, onFailure, patienceMs = 1_000 } = options;
  const closing = new AbortController();
  let wish: Wish | undefined;
  /** What failed when it was tried; it is tried again with the next wish. */
  let missed: Wish | undefined;
  /** What gave way; it is tried again when no newer wish is left. */
  let postponed: Wish | undefined;
  let working: Promise<void> | undefined;
  let onNewer: (() => void) | undefined;

  async function work(): Promise<void> {
    let givings = 0;
    for (;;) {
      const newest = givings < mostGivings ? wish : wish && both(wish, postponed);
      const wanted = newest ?? postponed;
      if (wanted === undefined || closing.signal.aborted) break;
      postponed = newest && without(postponed, newest);
      const all = both(wanted, missed);
      [wish, missed] = [undefined, undefined];
      const gaveWay = await attempt(all, givings < mostGivings);
      if (gaveWay) givings += 1;
      else if (postponed === undefined) givings = 0;
    }
    working = undefined;
  }

  /** Gives whether it gave way. */
  async function attempt(wanted: Wish, mayGiveWay: boolean): Promise<boolean> {
    const control = new AbortController();
    const patientUntil = Date.now() + patienceMs;
    let timer: NodeJS.Timeout | undefined;
    if (mayGiveWay) {
      onNewer = () => {
        timer ??= setTimeout(() => control.abort(), Math.max(0, patientUntil - Date.now()));
      };
    }
    const signal = AbortSignal.any([control.signal, closing.signal]);
    try {
      onReport(await reload(wanted === 'all' ? undefined : wanted, signal));
      return false;
    } catch (error) {
      if (control.signal.aborted) {
        postponed = both(wanted, postponed);
        return true;
      }
      missed = wanted;
      if (!signal.aborted) onFailure(error);
      return false;
    } finally {
      onNewer = undefined;
      clearTimeout(timer);
    }
  }

  return {
    reload(changed) {
      if (closing.signal.aborted) return Promise.resolve();
      wish = both(changed ? new Set(changed) : 'all', wish);
      onNewer?.();
      working ??= work();
      return working;
    },
    async close() {
      closing.abort();
      await working;
    },
  };
}

/** What is left of a wish when another has been met. */
function without(wish: Wish | undefined, met: Wish): Wish | undefined {
  if (wish === undefined || met === 'all') return undefined;
  if (wish === 'all') return wish;
  const left = [...wish].filter((file) => !met.has(file));
  return left.length > 0 ? new Set(left) : undefined;
}

function both(one: Wish, other: Wish | undefined): Wish {
  return one === 'all' || other === 'all' ? 'all' : new Set([...one, ...(other ?? [])]);
}

/** Tells a reload to the log of a gateway that serves: what changed, and a line for each file that could not be loaded. */
function logReload(logger: Pick<Logger, 'info' | 'warn' | 'error'>): (report: ReloadReport) => void {
  return ({ added, reloaded, removed, problems, skipped, ms }) => {
    for (const { file, reason } of skipped) logger.warn({ file, reason }, 'plugin file skipped');
    for (const { file, reason } of problems) {
      logger.error({ file, reason }, 'plugin cannot be loaded; what was served of it before still is');
    }
    const changes = { added, reloaded, removed, failed: problems.length };
    logger.info({ ...changes, ms: Math.round(ms) }, 'plugins reloaded');
  };
}
