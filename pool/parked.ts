import type { FairQueue } from './fair-queue.js';
import type { Job } from './group.js';

/** A task whose turn has come. */
export interface Chosen {
  job: Job;
  /** To be told once of the milliseconds that it has taken, where the tenant had been charged an estimate. */
  settle: (spent: number) => void;
}

/**
 * Tasks that were chosen and could not start: no free thread has loaded their plugin yet, or their helper is slowed and has one that
 * runs.
 */
export class Parked {
  readonly #all = new Set<Chosen>();

  get size(): number {
    return this.#all.size;
  }

  add(chosen: Chosen): void {
    this.#all.add(chosen);
  }

  all(): Chosen[] {
    return [...this.#all];
  }

  /**
   * One that may start now, before any that waits in the queue: the oldest of the tenant that has received least. Of a tenant that is
   * named its oldest, whatever the others wait for.
   */
  takeFree(queue: Pick<FairQueue<Job>, 'clockOf' | 'isNext'>, tenant?: string): Chosen | undefined {
    let best: Chosen | undefined;
    let least = Number.POSITIVE_INFINITY;
    for (const each of this.#all) {
      if (tenant !== undefined && each.job.asker.tenant !== tenant) continue;
      const clock = isFree(each.job) ? queue.clockOf(each.job.asker.tenant) : least;
      if (clock < least) [best, least] = [each, clock];
    }
    if (!best || (tenant === undefined && !queue.isNext(best.job.asker.tenant))) return undefined;
    this.#all.delete(best);
    return best;
  }

  take(job: Job): Chosen | undefined {
    const found = this.all().find((each) => each.job === job);
    if (found) this.#all.delete(found);
    return found;
  }
}

/** Whether the task may start now, on a thread that is free. Where none of these has loaded its plugin, one begins to. */
export function isFree({ group, task }: Job): boolean {
  if (!group.slowed.mayStart(task)) return false;
  // The thread that its last task has cost is there again first: its neighbours must not wait for that.
  if (group.slowed.has(task) && !group.threads.isFull()) return false;
  if (group.threads.isFree(task)) return true;
  group.threads.prepare(task);
  return false;
}
