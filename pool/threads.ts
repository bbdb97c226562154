import { setTimeout as sleep } from 'node:timers/promises';
import type { TaskCall } from './context/task-host.js';
import { LoadError } from './load-error.js';
import type { PluginModule } from './plugin-module.js';
import { PoolError } from './pool-error.js';
import type { Task, TaskOutcome, WorkerReport, WorkerSettings } from './task.js';
import { createThread, type Thread } from './thread.js';

export interface ThreadsOptions {
  /** At least one. */
  count: number;
  settings: WorkerSettings;
  /** Tries that a thread has at the start; by default enough for what passes, such as too many open files. */
  attempts?: number;
  /** Called whenever a thread has become ready. */
  onReady: () => void;
  /** Told of a fault that belongs to no task. */
  onFault: (error: Error) => void;
  /** Milliseconds that a `setup` may take in a thread that replaces another, by the longest that a thread has loaded for so far. */
  setupLimit?: (longestLoadMs: number) => number;
}

/** Worker threads without a queue: whoever runs tasks on them sees to it that a thread is free. */
export interface Threads {
  /** Waits until every thread has loaded engine and plugins and gives their report. Throws where one cannot. */
  start(): Promise<WorkerReport>;
  /** Threads that can run a task, busy ones included; one that loads or is being replaced does not count. */
  ready(): number;
  /** Of these, how many have no task. */
  idle(): number;
  /** Helpers that the last thread to fail could not load; none once a thread has loaded all. */
  missing(): readonly string[];
  /** Threads that are started from now on load these of the plugins alone, by their urls. */
  retain(urls: ReadonlySet<string>): void;
  /** Runs a task on a free thread. Throws a `PoolError`: `helper_timeout`, or `internal` where the thread died. */
  run(task: Task, call?: TaskCall): Promise<TaskOutcome>;
  /** Has each thread load what first tasks need and a start does not, so that neither waits for it. Never rejects. */
  warm(): Promise<void>;
  close(): Promise<void>;
}

/** Tries that a thread has at the start: what passes (too many open files) has passed by then, a fault of a plugin has not. */
const startAttempts = 4;
/** The pause before a thread is replaced that ended of itself; each further one in its place doubles it. */
const firstPauseMs = 250;
const longestPauseMs = 30_000;
/** A thread that has lived this long did not end of its start: its place begins again with the shortest pause. */
const soundAfterMs = 60_000;
/** What was slow once may be slower again, but not without end. */
const patientLimit = (longestLoadMs: number) => Math.max(60_000, 10 * longestLoadMs);

/** Keeps `count` worker threads: another takes the place of each that ends. */
export function createThreads(options: ThreadsOptions): Threads {
  const { count, attempts = startAttempts, onReady, onFault, setupLimit = patientLimit } = options;
  const open = new Set<Thread>();
  const loaded = new Set<Thread>();
  const idle: Thread[] = [];
  const closing = new AbortController();
  let report: WorkerReport | undefined;
  let missing: readonly string[] = [];
  let settings = options.settings;
  let longestLoadMs = 0;
  // Judged by each thread that awaits it; a rejection must not end the process before that.
  settings.plugins?.catch(() => undefined);

  /** Starts a thread in one place, again and again until one is ready. `failures` is how many have ended there of themselves. */
  async function fill(failures: number, most = Number.POSITIVE_INFINITY): Promise<WorkerReport> {
    for (let tried = 1; ; tried += 1) {
      try {
        return await openThread(failures, most);
      } catch (error) {
        // Any other: which plugins there are is not known, and never will be.
        if (!(error instanceof LoadError) || closing.signal.aborted) throw error;
        missing = error.service === undefined ? [] : [error.service];
        // A start tells of it at once: it does not pass, and a second try would run it twice.
        if (tried >= most || (error.inSetup && Number.isFinite(most))) throw error;
        onFault(error);
        await pause(failures);
        failures += 1;
      }
    }
  }

  async function openThread(failures: number, most: number): Promise<WorkerReport> {
    closing.signal.throwIfAborted();
    // A start waits, and says for what. Later nobody watches: what never settles would cost the thread's place for good.
    const setupLimitMs = Number.isFinite(most) ? undefined : setupLimit(longestLoadMs);
    const thread = createThread({ settings, setupLimitMs, onFree, onEnd, onFault });
    open.add(thread);
    const began = Date.now();
    let since = 0;

    function onFree(): void {
      if (loaded.has(thread)) idle.push(thread);
    }

    function onEnd(ofItself: boolean): void {
      open.delete(thread);
      if (!loaded.delete(thread)) return;
      const at = idle.indexOf(thread);
      if (at !== -1) idle.splice(at, 1);
      const sound = Date.now() - since > soundAfterMs;
      void replace(ofItself, sound ? 0 : failures);
    }

    try {
      const found = await thread.load();
      report ??= found;
      // The engine may have been out of reach for a moment: a picture must not depend on the thread that it meets.
      if (found.engine !== report.engine) throw new LoadError(`a worker thread found only ${found.engine}`);
    } catch (error) {
      open.delete(thread);
      await thread.close();
      throw error;
    }
    since = Date.now();
    longestLoadMs = Math.max(longestLoadMs, since - began);
    missing = [];
    loaded.add(thread);
    idle.push(thread);
    onReady();
    return report;
  }

  /** A task costs its thread, and the next is there at once. A thread that ends of itself would do so again in a tight loop. */
  async function replace(ofItself: boolean, failures: number): Promise<void> {
    try {
      if (ofItself) {
        onFault(new Error('a worker thread ended while it had no task'));
        await pause(failures);
      }
      await fill(ofItself ? failures + 1 : failures);
    } catch (error) {
      if (!closing.signal.aborted) onFault(error as Error);
    }
  }

  function pause(failures: number): Promise<void> {
    const ms = Math.min(longestPauseMs, firstPauseMs * 2 ** failures);
    return sleep(ms, undefined, { signal: closing.signal, ref: report === undefined });
  }

  return {
    async start() {
      const others = Array.from({ length: count - 1 }, () => fill(0, attempts));
      const [first] = await Promise.all([fill(0, attempts), ...others]);
      return first;
    },
    ready: () => loaded.size,
    idle: () => idle.length,
    missing: () => missing,
    retain(urls) {
      const isKept = ({ url }: PluginModule) => urls.has(url);
      const { plugins } = settings;
      if (plugins) settings = { ...settings, plugins: plugins.then((all) => all.filter(isKept)) };
    },
    run(task, call) {
      const thread = idle.pop();
      if (thread) return thread.run(task, call);
      return Promise.reject(new PoolError('internal', 'a task was run where no thread was free'));
    },
    async warm() {
      if (settings.lean) return;
      await Promise.allSettled([...loaded].map((thread) => thread.warm()));
    },
    async close() {
      closing.abort();
      await Promise.all([...open].map((thread) => thread.close()));
    },
  };
}
