import { performance } from 'node:perf_hooks';
import { Admission, type Requester } from './admission.js';
import { noMoreWork, PoolError } from './errors.js';
import type { StopReason } from './fair-queue.js';
import { Costs, type Job, type ScheduledTask, Scheduler, SlowedHelpers, type TaskEnd } from './scheduler.js';
import type { WorkerReport, WorkerSettings } from './task.js';
import { createTicket, type Ticket, type TicketParts, unbounded } from './ticket.js';
import { createWorkers } from './workers.js';

export interface PoolOptions {
  threads: number;
  /** Slots beyond the running tasks. */
  queue: number;
  worker: WorkerSettings;
  /** Threads that are kept ready besides, in the place of those that end; see `ThreadsOptions`. */
  spares?: number;
  /** Called with faults that belong to no task, e.g. a worker that dies while idle. */
  onFault?: (error: Error) => void;
  /** Called with a helper that timed out again, whose tasks run one at a time from now on, and when that is over. */
  onSlowed?: (service: string, isSlowed: boolean) => void;
  /** Why no task of this tenant may start, see `FairQueue`; `look` again when that has changed. By default any may. */
  stopOf?: (tenant: string) => StopReason | undefined;
}

export interface Pool {
  /**
   * Starts so many threads, by default all, and reports what they found; `warm` starts the others. Throws where they cannot start.
   */
  start(needed?: number): Promise<WorkerReport>;
  /** The engine of pictures that the threads have found, or are to use. */
  engine(): WorkerReport['engine'] | undefined;
  /** The ticket of one call. Background work takes no slot and is never refused one: the caller bounds their number. */
  ticket(requester: Requester): Ticket;
  /** Gives back the background tasks that wait, with `shutting_down`, and accepts no more of them; those that run go on. */
  handBack(): void;
  /** To be called when `stopOf` may have changed for a tenant: starts what may be started now. */
  look(tenant: string): void;
  /** Tasks running, slots held by calls, and threads that could run a task. */
  stats(): { running: number; places: number; threads: number };
  /** Has `onStart` called with each task that starts: how long it waited, and whose it is. */
  watch(onStart: (waitMs: number, requester: Requester) => void): void;
  /** Helpers whose plugins threads could not load when it was tried last. */
  missing(): readonly string[];
  /** Helpers that timed out again and again, of which one task runs at a time. */
  slowed(): readonly string[];
  /** Has the first threads load what first tasks need and a start does not, and starts the others. Never rejects. */
  warm(): Promise<void>;
  /** Accepts no more work, finishes what has a slot, ends the threads. */
  close(): Promise<void>;
}

/** A bounded pool of worker threads that tenants share fairly by time. Nothing starts before `start`. */
export function createPool(options: PoolOptions): Pool {
  const admission = new Admission(options.threads + options.queue);
  const costs = new Costs();
  const slowed = new SlowedHelpers(options.onSlowed);
  const waiting = new Scheduler({
    estimate: ({ task }) => costs.estimate(task),
    canStart,
    refusal: ({ task }) => workers.refusal(task),
    stopOf: options.stopOf,
  });
  let running = 0;
  let closing = false;
  let onStart: ((waitMs: number, requester: Requester) => void) | undefined;
  let drained: (() => void) | undefined;
  const workers = createWorkers({
    count: options.threads,
    settings: options.worker,
    // Where little is loaded before it is needed, a thread starts quickly enough.
    spares: options.worker.lean ? 0 : options.spares,
    onChange() {
      refuse();
      pump();
    },
    onFault: (error) => options.onFault?.(error),
  });

  function canStart({ task }: Job): boolean {
    if (!slowed.mayStart(task)) return false;
    // The thread that the last task of a slowed helper has cost is there again first: its neighbours must not wait for that.
    if (slowed.has(task) && !workers.isFull()) return false;
    if (workers.isFree(task)) return true;
    workers.prepare(task);
    return false;
  }

  function pump(): void {
    while (running < options.threads && waiting.size > 0 && workers.idle() > 0) {
      const next = waiting.take();
      if (!next) return;
      runJob(next);
    }
  }

  function runJob({ job, settle }: ScheduledTask): void {
    const began = performance.now();
    running += 1;
    slowed.began(job.task);
    onStart?.(began - job.since, job.requester);
    const end = (how: TaskEnd, ok: boolean) => {
      const spent = performance.now() - began;
      costs.learn(job.task, spent, ok);
      slowed.ended(job.task, how);
      running -= 1;
      settle(spent);
      pump();
      if (isEmpty()) drained?.();
    };
    // A layer of promises less is felt where a task takes a fraction of a millisecond.
    workers.run(job.task, job).then(
      (outcome) => {
        job.resolve(outcome);
        end('in time', outcome.ok);
      },
      (error) => {
        job.reject(error);
        end(error instanceof PoolError && error.code === 'helper_timeout' ? 'late' : 'failed', false);
      },
    );
  }

  /** Rejects the tasks that wait for what cannot be had. */
  function refuse(): void {
    for (const [job, refusal] of waiting.refused()) if (withdraw(job)) job.reject(refusal);
  }

  /** Removes a task that waits; it may be the last that `close` waits for. */
  function withdraw(job: Job): boolean {
    const wasWaiting = waiting.remove(job);
    if (isEmpty()) drained?.();
    return wasWaiting;
  }

  function isEmpty(): boolean {
    return running === 0 && waiting.size === 0;
  }

  function retryAfter(): number {
    return Math.max(1, Math.ceil((admission.tasks * costs.typical) / options.threads / 1000));
  }

  function requireOpen(): void {
    if (closing) throw noMoreWork();
  }

  const parts: TicketParts = {
    admission,
    slotsOf: (task) => costs.slots(task),
    enqueue(job) {
      const refusal = waiting.refusalOf(job);
      if (refusal) {
        job.reject(refusal);
        return () => false;
      }
      waiting.push(job);
      pump();
      return () => withdraw(job);
    },
    refusal: (code) => new PoolError(code, 'no place in the pool', { retryAfter: retryAfter() }),
    requireOpen,
  };
  const backgroundParts: TicketParts = { ...parts, admission: unbounded };

  return {
    start: workers.start,
    engine: workers.engine,
    ticket: (requester) => createTicket(requester, requester.background ? backgroundParts : parts),
    handBack() {
      waiting.background.close();
      refuse();
    },
    look(tenant) {
      waiting.calls.look(tenant);
      pump();
    },
    stats: () => ({ running, places: admission.size, threads: workers.ready() }),
    watch: (callback) => (onStart = callback),
    missing: workers.missing,
    slowed: () => slowed.services(),
    warm: workers.warm,
    async close() {
      closing = true;
      if (!isEmpty()) await new Promise<void>((resolve) => (drained = resolve));
      await workers.close();
    },
  };
}
