import { performance } from 'node:perf_hooks';
import { Admission, type Requester } from './admission.js';
import { Costs, SlowedHelpers, type TaskEnd } from './costs.js';
import { noMoreWork, PoolError } from './errors.js';
import type { StopReason } from './fair-queue.js';
import { createGroup, type Group } from './group.js';
import { type Job, type ScheduledTask, Scheduler } from './scheduler.js';
import type { WorkerReport, WorkerSettings } from './task.js';
import { createTicket, type Ticket, type TicketParts, unbounded } from './ticket.js';

export interface PoolOptions {
  threads: number;
  /** Places beyond the running tasks. */
  queue: number;
  worker: WorkerSettings;
  /** Threads that are kept ready besides, in the place of those that end; see `ThreadsOptions`. */
  spares?: number;
  /** Told of faults that belong to no task, e.g. a worker that dies while idle. */
  onFault?: (error: Error) => void;
  /** Told of a helper that timed out again, whose tasks run one at a time from now on, and when they do so no more. */
  onSlowed?: (service: string, isSlowed: boolean) => void;
  /** Why no task of this tenant may start, see `FairQueue`; `look` again when that has changed. By default any may. */
  stopOf?: (tenant: string) => StopReason | undefined;
}

export interface Pool {
  /**
   * Starts so many threads, by default all, and says what they found; `warm` starts the others. Throws where they cannot start.
   */
  start(needed?: number): Promise<WorkerReport>;
  /** The threads that `start` starts. */
  readonly first: Group;
  /**
   * Starts as many threads besides, with settings of their own; tasks at a time are no more for that. Throws a `LoadError`
   * where they cannot load, and what `plugins` rejects with; with all of them ended.
   */
  open(settings: Partial<WorkerSettings>, options?: { attempts?: number }): Promise<Group>;
  /**
   * The ticket of one call, on the threads of a group. Background work takes no slot and is never refused one: the
   * caller bounds their number.
   */
  ticket(requester: Requester, group?: Group): Ticket;
  /** Gives back the background tasks that wait, with `shutting_down`, and takes no more of them; those that run go on. */
  handBack(): void;
  /** Says that tasks of this tenant may be started now, and starts what may be. */
  look(tenant: string): void;
  /** Tasks running, places taken by calls, and threads that could run a task, whosever it is. */
  stats(): { running: number; places: number; threads: number };
  /** Has one told, from now on, of each task that starts: the milliseconds that it waited, and whose it is. */
  watch(onStart: (waitMs: number, requester: Requester) => void): void;
  /** Helpers whose plugins threads could not load when it was tried last. */
  missing(): readonly string[];
  /** Helpers that timed out again and again, of which one task runs at a time. */
  slowed(): readonly string[];
  /** Has the first threads load what first tasks need and a start does not, and starts the others. Never rejects. */
  warm(): Promise<void>;
  /** Takes no more work, lets what has a place finish, ends the workers. */
  close(): Promise<void>;
}

/** A bounded pool of worker threads that tenants share fairly by time. Nothing starts before `start`. */
export function createPool(options: PoolOptions): Pool {
  const admission = new Admission(options.threads + options.queue);
  /** The charge until a task's real time is known, the places that it counts for, and the guess for Retry-After. */
  const costs = new Costs();
  const slowed = new SlowedHelpers(options.onSlowed);
  const waiting = new Scheduler({
    estimate: ({ task }) => costs.estimate(task),
    canStart,
    refusal: ({ group, task }) => group.threads.refusal(task),
    stopOf: options.stopOf,
  });
  /** Groups that may have tasks. */
  const serving = new Set<Group>();
  const open = new Set<Group>();
  let running = 0;
  let closing = false;
  let onStart: ((waitMs: number, requester: Requester) => void) | undefined;
  let drained: (() => void) | undefined;
  const first = makeGroup(options.worker);

  function makeGroup(settings: WorkerSettings, attempts?: number): Group {
    const group = createGroup({
      count: options.threads,
      settings,
      // Where little is loaded before it is needed, a thread starts quickly enough.
      spares: settings.lean ? 0 : options.spares,
      ...(attempts === undefined ? {} : { attempts }),
      onChange() {
        refuse();
        pump();
      },
      onFault: (error) => options.onFault?.(error),
      onClose: (closed) => {
        serving.delete(closed);
        open.delete(closed);
      },
    });
    open.add(group);
    return group;
  }

  function canStart({ group: { threads }, task }: Job): boolean {
    if (!slowed.mayStart(task)) return false;
    // The thread that the last task of a slowed helper has cost is there again first: its neighbours must not wait for that.
    if (slowed.has(task) && !threads.isFull()) return false;
    if (threads.isFree(task)) return true;
    threads.prepare(task);
    return false;
  }

  function pump(): void {
    while (running < options.threads && waiting.size > 0 && isAnyFree()) {
      const next = waiting.take();
      if (!next) return;
      runJob(next);
    }
  }

  function isAnyFree(): boolean {
    for (const { threads } of serving) if (threads.idle() > 0) return true;
    return false;
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
    job.group.threads.run(job.task, job).then(
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

  /** Tells the tasks that wait for what cannot be had. */
  function refuse(): void {
    for (const [job, refusal] of waiting.refused()) if (withdraw(job)) job.reject(refusal);
  }

  /** Takes out a task that waits; it may be the last that the end waits for. */
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
    placesOf: (task) => costs.places(task),
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
    first,
    start(needed) {
      serving.add(first);
      return first.threads.start(needed);
    },
    async open(settings, { attempts } = {}) {
      requireOpen();
      const group = makeGroup({ ...options.worker, ...settings }, attempts);
      try {
        await group.threads.start();
        // Nobody waits for these: others serve until they are there.
        await group.threads.warm();
        requireOpen();
      } catch (error) {
        await group.close();
        throw error;
      }
      serving.add(group);
      return group;
    },
    ticket: (requester, group = first) =>
      createTicket(requester, group, requester.background ? backgroundParts : parts),
    handBack() {
      waiting.background.close();
      refuse();
    },
    look(tenant) {
      waiting.calls.look(tenant);
      pump();
    },
    stats() {
      const ready = [...serving].map(({ threads }) => threads.ready());
      return { running, places: admission.size, threads: ready.length > 0 ? Math.min(...ready) : 0 };
    },
    watch: (told) => (onStart = told),
    missing: () => [...serving].flatMap(({ threads }) => threads.missing()),
    slowed: () => slowed.services(),
    warm: () => first.threads.warm(),
    async close() {
      closing = true;
      if (!isEmpty()) await new Promise<void>((resolve) => (drained = resolve));
      await Promise.all([...open].map((group) => group.close()));
    },
  };
}
