import { performance } from 'node:perf_hooks';
import { Admission } from './admission.js';
import type { Asker } from './asker.js';
import { Costs } from './costs.js';
import { FairQueue, type Stop } from './fair-queue.js';
import { createGroup, type Group, type Job } from './group.js';
import { type Chosen, isFree, Parked } from './parked.js';
import { PoolError } from './pool-error.js';
import type { Task, WorkerReport, WorkerSettings } from './task.js';
import { createTurn, type Turn } from './turn.js';

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
  /** The threads that `start` starts. */
  readonly first: Group;
  /**
   * Starts as many threads besides, with settings of their own; tasks at a time are no more for that. Throws a `LoadError`
   * where they cannot load, and what `plugins` rejects with; with all of them ended.
   */
  open(settings: Partial<WorkerSettings>, options?: { attempts?: number }): Promise<Group>;
  /** A call's way through the pool, on the threads of a group. */
  turn(asker: Asker, group?: Group): Turn;
  /** Says that tasks of this tenant may be started now, and starts what may be. */
  look(tenant: string): void;
  /** Tasks running, places taken, and threads that could run one, whosever it is. */
  stats(): { running: number; places: number; threads: number };
  /** Helpers whose plugins threads could not load when it was tried last. */
  missing(): readonly string[];
  /** Has the first threads load what first tasks need and a start does not. Never rejects. */
  warm(): Promise<void>;
  /** Takes no more work, lets what has a place finish, ends the workers. */
  close(): Promise<void>;
}

/** A bounded pool of worker threads that tenants share fairly by time. Nothing starts before `start`. */
export function createPool(options: PoolOptions): Pool {
  const admission = new Admission(options.threads + options.queue);
  const queue = new FairQueue<Job>(options.stopOf);
  /** The charge until a task's real time is known, the places that it counts for, and the guess behind Retry-After. */
  const costs = new Costs();
  const estimateOf = ({ task }: Job) => costs.estimate(task);
  /** Groups that may have tasks. */
  const serving = new Set<Group>();
  const open = new Set<Group>();
  const parked = new Parked();
  let running = 0;
  let closing = false;
  let drained: (() => void) | undefined;
  const first = makeGroup(options.worker);

  function makeGroup(settings: WorkerSettings, attempts?: number): Group {
    const group = createGroup({
      count: options.threads,
      settings,
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

  function pump(): void {
    while (running < options.threads && queue.size + parked.size > 0 && isAnyFree()) {
      const next = parked.takeFree() ?? takeNext();
      if (!next) return;
      if (isFree(next.job)) runJob(next);
      // Every group has a thread for each task that may run; but for this one's none has taken the place of one that ended.
      else parked.add(next);
    }
  }

  function isAnyFree(): boolean {
    for (const { threads } of serving) if (threads.idle() > 0) return true;
    return false;
  }

  function takeNext(): Chosen | undefined {
    const next = queue.size > 0 ? queue.shift(estimateOf) : undefined;
    return next && { tenant: next.tenant, job: next.item, estimate: estimateOf(next.item) };
  }

  function runJob({ tenant, job, estimate }: Chosen): void {
    const began = performance.now();
    running += 1;
    const end = (ok: boolean) => {
      const spent = performance.now() - began;
      costs.learn(job.task, spent, ok);
      running -= 1;
      queue.settle(tenant, estimate, spent);
      pump();
      if (isEmpty()) drained?.();
    };
    // A layer of promises less is felt where a task takes a fraction of a millisecond.
    job.group.threads.run(job.task, job).then(
      (outcome) => {
        job.resolve(outcome);
        end(outcome.ok);
      },
      (error) => {
        job.reject(error);
        end(false);
      },
    );
  }

  /** Tells the tasks that wait for what cannot be had. */
  function refuse(): void {
    for (const [tenant, job] of queue.items()) {
      const refusal = refusalOf(job);
      if (refusal && withdraw(tenant, job)) job.reject(refusal);
    }
    for (const { tenant, job } of parked.all()) {
      const refusal = refusalOf(job);
      if (refusal && withdraw(tenant, job)) job.reject(refusal);
    }
  }

  /** Takes out a task that waits; it may be the last that the end waits for. */
  function withdraw(tenant: string, job: Job): boolean {
    const wasQueued = queue.remove(tenant, job);
    const chosen = wasQueued ? undefined : parked.take(job);
    if (chosen) queue.settle(tenant, chosen.estimate, 0);
    if (isEmpty()) drained?.();
    return wasQueued || chosen !== undefined;
  }

  function isEmpty(): boolean {
    return running === 0 && queue.size === 0 && parked.size === 0;
  }

  function retryAfter(): number {
    return Math.max(1, Math.ceil((admission.tasks * costs.typical) / options.threads / 1000));
  }

  function requireOpen(): void {
    if (closing) throw new PoolError('shutting_down', 'the pool takes no more work');
  }

  const parts = {
    admission,
    placesOf: (task: Task) => costs.places(task),
    enqueue({ tenant, weight }: Asker, job: Job) {
      const refusal = refusalOf(job);
      if (refusal) {
        job.reject(refusal);
        return () => false;
      }
      queue.push(tenant, job, weight);
      pump();
      return () => withdraw(tenant, job);
    },
    refusal: (code: 'busy' | 'tenant_busy') =>
      new PoolError(code, 'no place in the pool', { retryAfter: retryAfter() }),
    requireOpen,
  };

  return {
    first,
    start() {
      serving.add(first);
      return first.threads.start();
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
    turn: (asker, group = first) => createTurn(asker, group, parts),
    look(tenant) {
      queue.look(tenant);
      pump();
    },
    stats() {
      const ready = [...serving].map(({ threads }) => threads.ready());
      return { running, places: admission.size, threads: ready.length > 0 ? Math.min(...ready) : 0 };
    },
    missing: () => [...serving].flatMap(({ threads }) => threads.missing()),
    warm: () => first.threads.warm(),
    async close() {
      closing = true;
      if (!isEmpty()) await new Promise<void>((resolve) => (drained = resolve));
      await Promise.all([...open].map((group) => group.close()));
    },
  };
}

function refusalOf({ group, task }: Job): PoolError | undefined {
  return group.threads.refusal(task);
}
