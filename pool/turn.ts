import { performance } from 'node:perf_hooks';
import type { Admission, Expected, Refusal, Release } from './admission.js';
import type { Asker } from './asker.js';
import type { TaskHost } from './context/task-host.js';
import type { Group, Job } from './group.js';
import { PoolError } from './pool-error.js';
import type { Task, TaskOutcome } from './task.js';

/** One call's way through the pool: its input may be expected, it runs any number of tasks, it leaves. */
export interface Turn {
  /**
   * To be awaited before the input is fetched: throws a `PoolError` (`busy`, `tenant_busy`, `shutting_down`) where the work
   * could not be done. May take half a second. What has been let in is accepted when it has arrived. Twice is once.
   */
  expect(): Promise<void>;
  /**
   * Keeps nobody from a place by what was expected: another's work may do for this call. Its own is accepted all the same, should it
   * come to that.
   */
  standBack(): void;
  /**
   * Takes a place, waits for its time, runs the task and gives the place back: between two tasks a call may have to wait for a
   * download, which keeps no place from others. Throws a `PoolError`; never for want of a place once one was had.
   */
  run(task: Task, host?: TaskHost): Promise<TaskOutcome>;
  /**
   * Gives up what was expected, and a task that waits; one that runs is told, and holds its place to its end. Twice is once.
   */
  leave(): void;
}

export interface TurnParts {
  admission: Pick<Admission, 'expect' | 'take' | 'hold'>;
  /** Places that a task counts for. */
  placesOf(task: Task): number;
  /** Puts a task into the line; gives how to take it out, which is false for one that runs. */
  enqueue(job: Job): () => boolean;
  /** The error of a refusal, with the time after which to come back. */
  refusal(code: Refusal): PoolError;
  /** Throws where the pool takes no more work. */
  requireOpen(): void;
}

const release: Release = () => undefined;

/** Lets in whatever comes: of work that its maker bounds. */
export const unbounded: TurnParts['admission'] = {
  expect: async () => ({ arrive: () => release, cancel: release }),
  take: () => release,
  hold: () => release,
};

/** Makes the turn of one call of a tenant; the group's threads stay until it has left and its tasks have ended. */
export function createTurn(
  asker: Asker,
  group: Group,
  { admission, placesOf, enqueue, refusal, requireOpen }: TurnParts,
): Turn {
  let expected: Expected | undefined;
  let withdraw: (() => void) | undefined;
  let accepted = false;
  let left = false;
  group.enter();

  function takePlace(places: number): Release {
    if (accepted) return admission.hold(asker, places);
    const taken = expected ? expected.arrive(places) : take(places);
    accepted = true;
    return taken;
  }

  function take(places: number): Release {
    requireOpen();
    const taken = admission.take(asker, places);
    if (typeof taken === 'string') throw refusal(taken);
    return taken;
  }

  return {
    async expect() {
      if (expected || accepted) return;
      requireOpen();
      const answer = await admission.expect(asker);
      if (typeof answer === 'string') throw refusal(answer);
      expected = answer;
      if (left) answer.cancel();
    },
    standBack() {
      expected?.cancel();
    },
    run(task, host) {
      return new Promise((resolve, reject) => {
        const release = takePlace(placesOf(task));
        group.enter();
        const end = () => {
          withdraw = undefined;
          release();
          group.leave();
        };
        const job: Job = {
          task,
          asker,
          since: performance.now(),
          group,
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
        const out = enqueue(job);
        withdraw = () => {
          if (out()) job.reject(new PoolError('internal', 'the call was given up before its turn'));
          else job.onLeave?.();
        };
      });
    },
    leave() {
      if (left) return;
      left = true;
      expected?.cancel();
      withdraw?.();
      group.leave();
    },
  };
}
