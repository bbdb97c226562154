import { performance } from 'node:perf_hooks';
import { Piscina } from 'piscina';
import { PoolError } from './pool-error.js';
import type { Task, TaskOutcome, WorkerReport, WorkerSettings } from './task.js';

export interface ThreadsOptions {
  count: number;
  settings: WorkerSettings;
  /** Called whenever a thread has become ready. */
  onReady: () => void;
  /** Told of a fault that belongs to no task. */
  onFault: (error: Error) => void;
}

/** Worker threads without a queue: whoever runs tasks on them sees to it that a thread is free. */
export interface Threads {
  /** Waits until every thread has loaded its engine and gives their report. Throws where one cannot start. */
  start(): Promise<WorkerReport>;
  /** Threads that can run a task, busy ones included; one that is being replaced does not count. */
  ready(): number;
  /** Runs a task on a free thread. Throws a `PoolError`: `helper_timeout`, or `internal` where the thread died. */
  run(task: Task): Promise<TaskOutcome>;
  close(): Promise<void>;
}

type ReadyWorker = { destroyed: boolean };

const reviveAfterMs = 1000;

/** Starts `count` worker threads under Piscina. */
export function createThreads({ count, settings, onReady, onFault }: ThreadsOptions): Threads {
  let workers: ReadyWorker[] = [];
  let closed = false;
  let piscina = createPiscina();

  function createPiscina(): Piscina {
    const created = new Piscina({
      filename: new URL('./worker.js', import.meta.url).href,
      workerData: settings,
      minThreads: count,
      maxThreads: count,
      concurrentTasksPerWorker: 1,
      // Without it a worker blocks between tasks, and what a plugin left running surfaces in somebody else's task.
      atomics: 'disabled',
      recordTiming: false,
      resourceLimits: { maxOldGenerationSizeMb: 512 },
    });
    created.on('workerCreate', (worker: ReadyWorker) => {
      workers.push(worker);
      onReady();
    });
    created.on('workerDestroy', () => {
      workers = workers.filter((worker) => !worker.destroyed);
      setTimeout(reviveIfDead, reviveAfterMs, created).unref();
    });
    created.on('error', onFault);
    return created;
  }

  /** Piscina starts no more workers once one has died while starting (its `workerFailsDuringBootstrap`). */
  function reviveIfDead(watched: Piscina): void {
    if (closed || watched !== piscina || watched.threads.length >= count) return;
    onFault(new Error('worker threads died while starting; starting new ones'));
    workers = [];
    piscina = createPiscina();
    void watched.close();
  }

  async function run(task: Task): Promise<TaskOutcome> {
    const began = performance.now();
    const timeout = new AbortController();
    const timer = setTimeout(() => timeout.abort(), settings.taskTimeoutMs);
    const transferList = task.source ? [task.source.buffer as ArrayBuffer] : [];
    try {
      return await piscina.run(task, { signal: timeout.signal, transferList });
    } catch (cause) {
      // Piscina ends the worker of an aborted task and starts another.
      const ms = performance.now() - began;
      if (timeout.signal.aborted)
        throw new PoolError('helper_timeout', 'the task ran past its time', { ms, cause });
      throw new PoolError('internal', 'the worker thread ended or its answer could not be sent', {
        ms,
        cause,
      });
    } finally {
      clearTimeout(timer);
    }
  }

  return {
    async start() {
      const reports = await Promise.all(Array.from({ length: count }, () => piscina.run(undefined)));
      return reports[0] as WorkerReport;
    },
    ready: () => workers.length,
    run,
    async close() {
      closed = true;
      await piscina.destroy();
    },
  };
}
