import { performance } from 'node:perf_hooks';
import type { Admission, Refusal, Release, Requester, Reservation } from './admission.js';
import type { TaskHost } from './context/messages.js';
import { PoolError } from './errors.js';
import type { Job } from './scheduler.js';
import type { Task, TaskOutcome } from './task.js';

/** A call's admission to the pool: it may reserve a slot for input on its way, runs any number of tasks, and is released. */
export interface Ticket {
  /**
   * To be awaited before the input is fetched: throws a `PoolError` (`busy`, `tenant_busy`, `shutting_down`) where the work could not
   * be done. May take half a second. Work with a reservation is accepted when its input has arrived. May be called twice.
   */
  reserve(): Promise<void>;
  /** Lets others have what was reserved, where another's work may do for this call. Its own is accepted all the same. */
  cancelReservation(): void;
  /**
   * Acquires a slot, waits for a thread, runs the task and frees the slot: between two tasks a call may have to wait for a download.
   * Throws a `PoolError`; never for want of a slot once one was had. When `signal` is aborted, a task that waits is given up, and
   * one that runs is notified and holds its slot to its end.
   */
  run(task: Task, options?: RunTaskOptions): Promise<TaskOutcome>;
  /** Ends the reservation, and the task as `signal` does. May be called twice. */
  release(): void;
}

export interface RunTaskOptions {
  host?: TaskHost | undefined;
  signal?: AbortSignal | undefined;
}

export interface TicketParts {
  admission: Pick<Admission, 'reserve' | 'acquire' | 'hold'>;
  /** Slots that a task counts for. */
  slotsOf(task: Task): number;
  /** Queues a task; the result takes it out again, and is false for one that runs. */
  enqueue(job: Job): () => boolean;
  /** The error of a refusal, with the time after which to come back. */
  refusal(code: Refusal): PoolError;
  /** Throws where the pool accepts no more work. */
  requireOpen(): void;
}

const noRelease: Release = () => undefined;

/** Admits all: for work that its maker bounds. */
export const unbounded: TicketParts['admission'] = {
  reserve: async () => ({ arrive: () => noRelease, cancel: noRelease }),
  acquire: () => noRelease,
  hold: () => noRelease,
};

/** Makes the ticket of one call. */
export function createTicket(
  requester: Requester,
  { admission, slotsOf, enqueue, refusal, requireOpen }: TicketParts,
): Ticket {
  let reservation: Reservation | undefined;
  let withdraw: (() => void) | undefined;
  let isAccepted = false;
  let isReleased = false;

  function acquire(slots: number): Release {
    if (isAccepted) return admission.hold(requester, slots);
    const free = reservation ? reservation.arrive(slots) : acquireUnreserved(slots);
    isAccepted = true;
    return free;
  }

  function acquireUnreserved(slots: number): Release {
    requireOpen();
    const free = admission.acquire(requester, slots);
    if (typeof free === 'string') throw refusal(free);
    return free;
  }

  return {
    async reserve() {
      if (reservation || isAccepted) return;
      requireOpen();
      const answer = await admission.reserve(requester);
      if (typeof answer === 'string') throw refusal(answer);
      reservation = answer;
      if (isReleased) answer.cancel();
    },
    cancelReservation() {
      reservation?.cancel();
    },
    run(task, { host, signal } = {}) {
      return new Promise((resolve, reject) => {
        if (signal?.aborted) throw givenUp();
        const free = acquire(slotsOf(task));
        let remove = () => false;
        const giveUp = () => {
          if (remove()) job.reject(givenUp());
          else job.onLeave?.();
        };
        const end = () => {
          signal?.removeEventListener('abort', giveUp);
          withdraw = undefined;
          free();
        };
        const job: Job = {
          task,
          requester,
          since: performance.now(),
          host,
          resolve: (outcome) => {
            end();
            resolve(outcome);
          },
          reject: (error) => {
            end();
            reject(error);
          },
        };
        withdraw = giveUp;
        signal?.addEventListener('abort', giveUp);
        remove = enqueue(job);
      });
    },
    release() {
      if (isReleased) return;
      isReleased = true;
      reservation?.cancel();
      withdraw?.();
    },
  };
}

function givenUp(): PoolError {
  return new PoolError('internal', 'the call was given up before its task began');
}
