import { performance } from 'node:perf_hooks';
import { Admission } from './admission.js';
import type { Asker } from './asker.js';
import { FairQueue, type Stop } from './fair-queue.js';
import { PoolError } from './pool-error.js';
import type { WorkerReport, WorkerSettings } from './task.js';
import { createThreads, type Threads } from './threads.js';
import { createTurn, type Job, type Turn } from './turn.js';

export interface PoolOptions {
  threads: number;
  /** Places beyond the running tasks. */
  queue: number;
  worker: WorkerSettings;
  /** Told of faults that belong to no task, e.g. a worker that dies while idle. */
  onFault?: (error: Error) => void;
  /** Why no task of this tenant may start, see `FairQueue`; `look` again when that has changed. By default any may. */
  stopOf?: (tenant: string) => Stop | undefined;
}

export interface Pool {
  /** Starts every worker and says what they found. Throws where they cannot start. */
  start(): Promise<WorkerReport>;
  /** A call's way through the pool. */
  turn(asker: Asker): Turn;
  /** Says that tasks of this tenant may be started now, and starts what may be. */
  look(tenant: string): void;
  /** Tasks running, places taken, and threads that could run one. */
  stats(): { running: number; places: number; threads: number };
  /** Helpers whose plugins the last thread to fail could not load. */
  missing(): readonly string[];
  /** Takes no more work, lets what has a place finish, ends the workers. */
  close(): Promise<void>;
}

/** A bounded pool of worker threads that tenants share fairly by time. Nothing starts before `start`. */
export function createPool(options: PoolOptions): Pool {
  const admission = new Admission(options.threads + options.queue);
  const queue = new FairQueue<Job>(options.stopOf);
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
      runJob(threads, next.tenant, next.item, estimate);
    }
  }

  function runJob(on: Threads, tenant: string, job: Job, estimate: number): void {
    const began = performance.now();
    const end = () => {
      const spent = performance.now() - began;
      typical = typical * 0.9 + spent * 0.1;
      running -= 1;
      queue.settle(tenant, estimate, spent);
      pump();
      if (running === 0 && queue.size === 0) drained?.();
    };
    // A layer of promises less is felt where a task takes a fraction of a millisecond.
    on.run(job.task).then(
      (outcome) => {
        job.resolve(outcome);
        end();
      },
      (error) => {
        job.reject(error);
        end();
      },
    );
  }

  function retryAfter(): number {
    return Math.max(1, Math.ceil((admission.size * typical) / options.threads / 1000));
  }

  const parts = {
    admission,
    enqueue({ tenant, weight }: Asker, job: Job) {
      queue.push(tenant, job, weight);
      pump();
      return () => queue.remove(tenant, job);
    },
    refusal: (code: 'busy' | 'tenant_busy') =>
      new PoolError(code, 'no place in the pool', { retryAfter: retryAfter() }),
    requireOpen() {
      if (closing) throw new PoolError('shutting_down', 'the pool takes no more work');
    },
  };

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
    turn: (asker) => createTurn(asker, parts),
    look(tenant) {
      queue.look(tenant);
      pump();
    },
    stats: () => ({ running, places: admission.size, threads: threads?.ready() ?? 0 }),
    missing: () => threads?.missing() ?? [],
    async close() {
      closing = true;
      if (running > 0 || queue.size > 0) await new Promise<void>((resolve) => (drained = resolve));
      await threads?.close();
    },
  };
}
