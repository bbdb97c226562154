import { setTimeout as sleep } from 'node:timers/promises';
import { LoadError } from './load-error.js';
import { PoolError } from './pool-error.js';
import type { Task, TaskOutcome, WorkerReport, WorkerSettings } from './task.js';
import { createThread, type Thread } from './thread.js';

export interface ThreadsOptions {
  /** At least one. */
  count: number;
  settings: WorkerSettings;
  /** Called whenever a thread has become ready. */
  onReady: () => void;
  /** Told of a fault that belongs to no task. */
  onFault: (error: Error) => void;
}

/** Worker threads without a queue: whoever runs tasks on them sees to it that a thread is free. */
export interface Threads {
  /** Waits until every thread has loaded engine and plugins and gives their report. Throws where one cannot. */
  start(): Promise<WorkerReport>;
  /** Threads that can run a task, busy ones included; one that loads or is being replaced does not count. */
  ready(): number;
  /** Helpers that the last thread to fail could not load; none once a thread has loaded all. */
  missing(): readonly string[];
  /** Runs a task on a free thread. Throws a `PoolError`: `helper_timeout`, or `internal` where the thread died. */
  run(task: Task): Promise<TaskOutcome>;
  close(): Promise<void>;
}

/** Tries that a thread has at the start: what passes (too many open files) has passed by then, a fault of a plugin has not. */
const startAttempts = 4;
/** The pause before a thread is replaced that ended of itself; each further one in its place doubles it. */
const firstPauseMs = 250;
const longestPauseMs = 30_000;
/** A thread that has lived this long did not end of its start: its place begins again with the shortest pause. */
const soundAfterMs = 60_000;

/** Keeps `count` worker threads: another takes the place of each that ends. */
export function createThreads({ count, settings, onReady, onFault }: ThreadsOptions): Threads {
  const open = new Set<Thread>();
  const loaded = new Set<Thread>();
  const idle: Thread[] = [];
  const closing = new AbortController();
  let report: WorkerReport | undefined;
  let missing: readonly string[] = [];
  // Judged by each thread that awaits it; a rejection must not end the process before that.
  settings.plugins?.catch(() => undefined);

  /** Starts a thread in one place, again and again until one is ready. `failures` is how many have ended there of themselves. */
  async function fill(failures: number, attempts = Number.POSITIVE_INFINITY): Promise<WorkerReport> {
    for (let tried = 1; ; tried += 1) {
      try {
        return await openThread(failures);
      } catch (error) {
        // Any other: which plugins there are is not known, and never will be.
        if (!(error instanceof LoadError) || closing.signal.aborted) throw error;
        missing = error.service === undefined ? [] : [error.service];
        if (tried >= attempts) throw error;
        onFault(error);
        await pause(failures);
        failures += 1;
      }
    }
  }

  async function openThread(failures: number): Promise<WorkerReport> {
    closing.signal.throwIfAborted();
    const thread = createThread({ settings, onFree, onEnd, onFault });
    open.add(thread);
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
      const others = Array.from({ length: count - 1 }, () => fill(0, startAttempts));
      const [first] = await Promise.all([fill(0, startAttempts), ...others]);
      return first;
    },
    ready: () => loaded.size,
    missing: () => missing,
    run(task) {
      const thread = idle.pop();
      if (thread) return thread.run(task);
      return Promise.reject(new PoolError('internal', 'a task was run where no thread was free'));
    },
    async close() {
      closing.abort();
      await Promise.all([...open].map((thread) => thread.close()));
    },
  };
}
