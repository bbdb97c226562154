import type { Stop } from './fair-queue.js';
import type { Job } from './group.js';
import type { Chosen } from './parked.js';
import type { PoolError } from './pool-error.js';
import { Waiting } from './waiting.js';

/**
 * Tasks that wait in two classes. Those of `calls` are what somebody waits for; those `behind` are looked at only while no call can
 * start one, and share among themselves what is left.
 */
export class TwoClasses {
  readonly calls: Waiting;
  readonly behind: Waiting;

  /** What stops a tenant's calls, see `FairQueue`, is their answers: of tasks behind them nobody takes any. */
  constructor(estimateOf: (job: Job) => number, stopOf?: (tenant: string) => Stop | undefined) {
    this.calls = new Waiting(estimateOf, stopOf);
    this.behind = new Waiting(estimateOf);
  }

  get size(): number {
    return this.calls.size + this.behind.size;
  }

  push(job: Job): void {
    this.#classOf(job).push(job);
  }

  /** Takes the next task that a thread can run now; undefined where there is none. */
  take(): Chosen | undefined {
    return this.calls.take() ?? this.behind.take();
  }

  /** Takes out a task that waits; false where it does not. */
  remove(job: Job): boolean {
    return this.#classOf(job).remove(job);
  }

  /** Why a task may not wait; undefined where it may. */
  refusalOf(job: Job): PoolError | undefined {
    return this.#classOf(job).refusalOf(job);
  }

  /** Every task that waits for what cannot be had; what is removed meanwhile is passed over. */
  *refused(): ReturnType<Waiting['refused']> {
    yield* this.calls.refused();
    yield* this.behind.refused();
  }

  #classOf({ asker }: Job): Waiting {
    return asker.behind ? this.behind : this.calls;
  }
}
