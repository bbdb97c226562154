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
  readonly #all = new Set<Job>();

  get size(): number {
    return this.#all.size;
  }

  add(job: Job): void {
    this.#all.add(job);
  }

  /** Takes out a task; false where it is not here. */
  remove(job: Job): boolean {
    return this.#all.delete(job);
  }

  all(): Job[] {
    return [...this.#all];
  }

  /**
   * One that may start now, before any that waits in the queue: the oldest of the tenant that has received least. Of a tenant that is
   * named its oldest, whatever the others wait for.
   */
  takeFree(queue: Pick<FairQueue<Job>, 'clockOf' | 'isNext'>, tenant?: string): Job | undefined {
    let best: Job | undefined;
    let least = Number.POSITIVE_INFINITY;
    for (const each of this.#all) {
      if (tenant !== undefined && each.asker.tenant !== tenant) continue;
      const clock = isFree(each) ? queue.clockOf(each.asker.tenant) : least;
      if (clock < least) [best, least] = [each, clock];
    }
    if (!best || (tenant === undefined && !queue.isNext(best.asker.tenant))) return undefined;
    this.#all.delete(best);
    return best;
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
