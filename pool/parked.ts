import type { Job } from './group.js';

/** A task whose turn has come. */
export interface Chosen {
  job: Job;
  /** To be told once of the milliseconds that it has taken, where the tenant had been charged an estimate. */
  settle: (spent: number) => void;
}

/** Tasks that were chosen while each thread that can run them was being replaced, or busy with what others can run, too. */
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

  /** The oldest for which there is a thread. */
  takeFree(): Chosen | undefined {
    return this.#take(({ job }) => isFree(job));
  }

  take(job: Job): Chosen | undefined {
    return this.#take((each) => each.job === job);
  }

  #take(isWanted: (chosen: Chosen) => boolean): Chosen | undefined {
    for (const each of this.#all) {
      if (!isWanted(each)) continue;
      this.#all.delete(each);
      return each;
    }
    return undefined;
  }
}

/** Whether a thread can run the task now. */
export function isFree({ group, task }: Job): boolean {
  return group.threads.isFree(task);
}
