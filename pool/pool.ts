import { performance } from 'node:perf_hooks';
import { Admission, type Refusal, type Release, type Requester, type Reservation } from './admission.js';
import type { TaskHost } from './context/messages.js';
import { Costs } from './costs.js';
import { noMoreWork, PoolError } from './errors.js';
import type { StopReason } from './fair-queue.js';
import { type Job, type ScheduledTask, Scheduler, SlowedHelpers, type TaskEnd } from './scheduler.js';
import type { Task, TaskOutcome, WorkerSettings } from './task.js';
import { createWorkers } from './workers.js';

export interface PoolOptions {
  threads: number;
  /** Slots beyond the running tasks. */
  queue: number;
  worker: WorkerSettings;
  /** Threads that are kept ready besides, to replace those that end; see `WorkersOptions`. */
  spares?: number;
  /** Called with faults that belong to no task, e.g. a worker that dies while idle. */
  onFault?: (error: Error) => void;
  /** Called with a helper that timed out again, whose tasks run one at a time from now on, and when that is over. */
  onSlowed?: (service: string, isSlowed: boolean) => void;
  /** Why no task of this tenant may start, see `FairQueue`; `look` again when that has changed. By default any may. */
  stopOf?: (tenant: string) => StopReason | undefined;
}

export interface RunTaskOptions {
  host?: TaskHost | undefined;
  signal?: AbortSignal | undefined;
}

export type Pool = ReturnType<typeof createPool>;
export type Ticket = ReturnType<Pool['ticket']>;

const noRelease: Release = () => undefined;

/** Admits all: for background work, which its maker bounds. */
const unbounded: Pick<Admission, 'reserve' | 'acquire' | 'hold'> = {
  reserve: async () => ({ arrive: () => noRelease, cancel: noRelease }),
  acquire: () => noRelease,
  hold: () => noRelease,
};

/** A bounded pool of worker threads that tenants share fairly by time. Nothing starts before `start`. */
export function createPool(options: PoolOptions) {
  const bounded = new Admission(options.threads + options.queue);
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
    const end = (how: TaskEnd, ok: boolean, ms?: number) => {
      const spent = performance.now() - began;
      costs.learn(job.task, spent, ok, ms);
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
        end('in time', outcome.ok, outcome.ms);
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

  /** Removes a task that waits, false for any other; it may be the last that `close` waits for. */
  function withdraw(job: Job): boolean {
    const wasWaiting = waiting.remove(job);
    if (isEmpty()) drained?.();
    return wasWaiting;
  }

  function isEmpty(): boolean {
    return running === 0 && waiting.size === 0;
  }

  function enqueue(job: Job): void {
    const refusal = waiting.refusalOf(job);
    if (refusal) job.reject(refusal);
    else {
      waiting.push(job);
      pump();
    }
  }

  function requireOpen(): void {
    if (closing) throw noMoreWork();
  }

  /** Throws a refusal, with the time after which to come back. */
  function requireSlot<T extends object>(answer: T | Refusal): T {
    if (typeof answer !== 'string') return answer;
    const retryAfter = Math.max(1, Math.ceil((bounded.tasks * costs.typical) / options.threads / 1000));
    throw new PoolError(answer, 'no slot in the pool', { retryAfter });
  }

  function createTicket(requester: Requester) {
    const admission = requester.background ? unbounded : bounded;
    let reservation: Reservation | undefined;
    let giveUpTask: (() => void) | undefined;
    let isAccepted = false;
    let isReleased = false;

    function acquire(slots: number): Release {
      if (isAccepted) return admission.hold(requester, slots);
      if (!reservation) requireOpen();
      const free = reservation?.arrive(slots) ?? requireSlot(admission.acquire(requester, slots));
      isAccepted = true;
      return free;
    }

    return {
      /**
       * To be awaited before the input is fetched: throws a `PoolError` (`busy`, `tenant_busy`, `shutting_down`) where the work could
       * not be done. May take half a second. Work with a reservation is accepted when its input has arrived. May be called twice.
       */
      async reserve(): Promise<void> {
        if (reservation || isAccepted) return;
        requireOpen();
        reservation = requireSlot(await admission.reserve(requester));
        if (isReleased) reservation.cancel();
      },
      /** Lets others have what was reserved, where another's work may do for this call. Its own is accepted all the same. */
      cancelReservation(): void {
        reservation?.cancel();
      },
      /**
       * Acquires a slot, waits for a thread, runs the task and frees the slot: between two tasks a call may have to wait for a download.
       * Throws a `PoolError`; never for want of a slot once one was had. When `signal` is aborted, a task that waits is given up, and
       * one that runs is notified and holds its slot to its end.
       */
      run(task: Task, { host, signal }: RunTaskOptions = {}): Promise<TaskOutcome> {
        return new Promise((resolve, reject) => {
          if (signal?.aborted) throw givenUp();
          const free = acquire(costs.slots(task));
          const giveUp = () => {
            if (withdraw(job)) job.reject(givenUp());
            else job.onLeave?.();
          };
          const end = () => {
            signal?.removeEventListener('abort', giveUp);
            giveUpTask = undefined;
            free();
          };
          const job: Job = {
            task,
            requester,
            since: performance.now(),
            host,
            resolve(outcome) {
              end();
              resolve(outcome);
            },
            reject(error) {
              end();
              reject(error);
            },
          };
          giveUpTask = giveUp;
          signal?.addEventListener('abort', giveUp);
          enqueue(job);
        });
      },
      /** Ends the reservation, and the task as `signal` does. May be called twice. */
      release(): void {
        if (isReleased) return;
        isReleased = true;
        reservation?.cancel();
        giveUpTask?.();
      },
    };
  }

  return {
    /** What calls of helpers have cost, those on the main thread too. */
    costs: costs as Pick<Costs, 'note' | 'price'>,
    /** Starts so many threads, by default all, and reports what they found; `warm` starts the others. Throws where they cannot start. */
    start: workers.start,
    /** The engine of pictures that the threads have found, or are to use. */
    engine: workers.engine,
    /**
     * A call's admission to the pool: it may reserve a slot for input on its way, runs any number of tasks, and is released. Background
     * work takes no slot and is never refused one: the caller bounds its amount.
     */
    ticket: createTicket,
    /** Gives back the background tasks that wait, with `shutting_down`, and accepts no more of them; those that run go on. */
    handBack(): void {
      waiting.background.close();
      refuse();
    },
    /** To be called when `stopOf` may have changed for a tenant: starts what may be started now. */
    look(tenant: string): void {
      waiting.calls.look(tenant);
      pump();
    },
    /** Tasks running, slots held by calls, and threads that could run a task. */
    stats: () => ({ running, places: bounded.size, threads: workers.ready() }),
    /** Has `callback` called with each task that starts: how long it waited, and whose it is. */
    watch(callback: (waitMs: number, requester: Requester) => void): void {
      onStart = callback;
    },
    /** Helpers whose plugins threads could not load when it was tried last. */
    missing: workers.missing,
    /** Helpers that timed out again and again, of which one task runs at a time. */
    slowed: () => slowed.services(),
    /** Has the first threads load what first tasks need and a start does not, and starts the others. Never rejects. */
    warm: workers.warm,
    /** Accepts no more work, finishes what has a slot, ends the threads. */
    async close(): Promise<void> {
      closing = true;
      if (!isEmpty()) await new Promise<void>((resolve) => (drained = resolve));
      await workers.close();
    },
  };
}

function givenUp(): PoolError {
  return new PoolError('internal', 'the call was given up before its task began');
}
