import { performance } from 'node:perf_hooks';
import { Admission } from './admission.js';
import { FairQueue } from './fair-queue.js';
import { PoolError } from './pool-error.js';
import type { Task, TaskOutcome, WorkerReport, WorkerSettings } from './task.js';
import { createThreads, type Threads } from './threads.js';

/** A place in the pool, taken before the work's input has been fetched. */
export interface Place {
  /** Aborted with a `PoolError` when the place is taken back for a tenant that has less. */
  readonly signal: AbortSignal;
  /** Waits for its turn and runs the task. Throws a `PoolError`. */
  run(task: Task): Promise<TaskOutcome>;
  /** Gives the place back; harmless when it is given back already. */
  release(): void;
}

export interface PoolOptions {
  threads: number;
  /** Places beyond the running tasks. */
  queue: number;
  worker: WorkerSettings;
  /** Told of faults that belong to no task, e.g. a worker that dies while idle. */
  onFault?: (error: Error) => void;
}

export interface Pool {
  /** Starts every worker and says what they found. Throws where they cannot start. */
  start(): Promise<WorkerReport>;
  /** Takes a place for a tenant, or throws a `PoolError`: `busy`, `tenant_busy` or `shutting_down`. */
  reserve(tenant: string, weight?: number): Place;
  /** Tasks running, places taken, and threads that could run one. */
  stats(): { running: number; places: number; threads: number };
  /** Helpers whose plugins the last thread to fail could not load. */
  missing(): readonly string[];
  /** Takes no more work, lets what has a place finish, ends the workers. */
  close(): Promise<void>;
}

interface Job {
  task: Task;
  start: () => void;
  resolve: (outcome: TaskOutcome) => void;
  reject: (error: unknown) => void;
}

/** A bounded pool of worker threads that tenants share fairly by time. Nothing starts before `start`. */
export function createPool(options: PoolOptions): Pool {
  const admission = new Admission(options.threads + options.queue);
  const queue = new FairQueue<Job>();
  let threads: Threads | undefined;
  let running = 0;
  let closing = false;
  // Running mean of a task's milliseconds: the charge until the real one is known, and the guess behind Retry-After.
  let typical = 50;
  let drained: (() => void) | undefined;

  function pump(): void {
    while (threads && running < threads.ready() && queue.size > 0) {
      const estimate = typical;
      const next = queue.shift(estimate);
      if (!next) return;
      running += 1;
      next.item.start();
      void runJob(threads, next.tenant, next.item, estimate);
    }
  }

  async function runJob(on: Threads, tenant: string, job: Job, estimate: number): Promise<void> {
    const began = performance.now();
    try {
      job.resolve(await on.run(job.task));
    } catch (error) {
      job.reject(error);
    } finally {
      const spent = performance.now() - began;
      typical = typical * 0.9 + spent * 0.1;
      running -= 1;
      queue.settle(tenant, estimate, spent);
      pump();
    }
  }

  function retryAfter(): number {
    return Math.max(1, Math.ceil((admission.size * typical) / options.threads / 1000));
  }

  function reserve(tenant: string, weight = 1): Place {
    if (closing) throw new PoolError('shutting_down', 'the pool takes no more work');
    const controller = new AbortController();
    let job: Job | undefined;
    const taken = admission.take(tenant, weight, () => {
      const error = new PoolError('tenant_busy', 'the place went to a tenant that had fewer', {
        retryAfter: retryAfter(),
      });
      if (job && queue.remove(tenant, job)) job.reject(error);
      controller.abort(error);
    });
    if (typeof taken === 'string') {
      throw new PoolError(taken, 'no place in the pool', { retryAfter: retryAfter() });
    }
    const ticket = taken;

    function free(): void {
      ticket.release();
      if (admission.size === 0) drained?.();
    }

    function release(): void {
      // Work that runs cannot be called back: its place is free when its thread is.
      if (job && !queue.remove(tenant, job)) return;
      job?.reject(new PoolError('internal', 'the place was given up before its turn'));
      free();
    }

    async function run(task: Task): Promise<TaskOutcome> {
      controller.signal.throwIfAborted();
      try {
        return await new Promise((resolve, reject) => {
          job = { task, start: ticket.start, resolve, reject };
          queue.push(tenant, job, weight);
          pump();
        });
      } finally {
        free();
      }
    }

    return { signal: controller.signal, run, release };
  }

  return {
    async start() {
      threads = createThreads({
        count: options.threads,
        settings: options.worker,
        onReady: pump,
        onFault: (error) => options.onFault?.(error),
      });
      return threads.start();
    },
    reserve,
    stats: () => ({ running, places: admission.size, threads: threads?.ready() ?? 0 }),
    missing: () => threads?.missing() ?? [],
    async close() {
      closing = true;
      if (admission.size > 0) await new Promise<void>((resolve) => (drained = resolve));
      await threads?.close();
    },
  };
}
