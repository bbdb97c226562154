import { FairQueue, type Stop } from './fair-queue.js';
import { type Job, refusalOf } from './group.js';
import { type Chosen, isFree, Parked } from './parked.js';
import { noMoreWork, type PoolError } from './pool-error.js';

/** Tasks that wait for a thread, in the order in which their tenants come: shared by time, and by weight. */
export class Waiting {
  readonly #queue: FairQueue<Job>;
  readonly #parked = new Parked();
  readonly #estimateOf: (job: Job) => number;
  #closed = false;

  /** `estimateOf` gives the charge until a task's real time is known; `stopOf` is as `FairQueue` says. */
  constructor(estimateOf: (job: Job) => number, stopOf?: (tenant: string) => Stop | undefined) {
    this.#estimateOf = estimateOf;
    this.#queue = new FairQueue(stopOf);
  }

  get size(): number {
    return this.#queue.size + this.#parked.size;
  }

  /** Tenants with tasks that wait for their time. */
  get tenants(): number {
    return this.#queue.tenants;
  }

  /** Whether a task of this tenant waits. */
  waits(tenant: string): boolean {
    return this.#queue.waits(tenant) || this.#parked.all().some(({ asker }) => asker.tenant === tenant);
  }

  push(job: Job): void {
    const { tenant, weight } = job.asker;
    this.#queue.push(tenant, job, weight);
  }

  /** Takes the next task that a thread can run now, of all tenants or of this one; undefined where there is none. */
  take(tenant?: string): Chosen | undefined {
    for (;;) {
      const parked = this.#parked.takeFree(this.#queue, tenant);
      if (parked) return this.#restart(parked);
      const next = this.#choose(tenant);
      if (!next || isFree(next.job)) return next;
      // Every group has a thread for each task that may run; but this one's plugin is to be loaded, or its helper is slowed. Until it
      // starts its tenant is not charged: what it waits for is no work that the tenant has received.
      next.settle(0);
      this.#parked.add(next.job);
    }
  }

  #restart(job: Job): Chosen {
    const { tenant, weight } = job.asker;
    const estimate = this.#estimateOf(job);
    this.#queue.restart(tenant, estimate, weight);
    return { job, settle: (spent) => this.#queue.settle(tenant, estimate, spent) };
  }

  #choose(tenant?: string): Chosen | undefined {
    const next = this.#queue.shift(this.#estimateOf, tenant);
    if (!next) return undefined;
    const { item: job } = next;
    const estimate = this.#estimateOf(job);
    return { job, settle: (spent) => this.#queue.settle(next.tenant, estimate, spent) };
  }

  /** Takes out a task that waits; false where it does not. */
  remove(job: Job): boolean {
    if (this.#queue.remove(job.asker.tenant, job)) return true;
    return this.#parked.remove(job);
  }

  /** Why a task may not wait here; undefined where it may. */
  refusalOf(job: Job): PoolError | undefined {
    return refusalOf(job) ?? (this.#closed ? noMoreWork() : undefined);
  }

  /** Every task that waits for what cannot be had; what is removed meanwhile is passed over. */
  *refused(): Iterable<[job: Job, refusal: PoolError]> {
    for (const job of this.#all()) {
      const refusal = this.refusalOf(job);
      if (refusal) yield [job, refusal];
    }
  }

  *#all(): Iterable<Job> {
    for (const [, job] of this.#queue.items()) yield job;
    yield* this.#parked.all();
  }

  /** From now on nothing may wait here. */
  close(): void {
    this.#closed = true;
  }

  /** Says that a tenant that might not start may do so now. */
  look(tenant: string): void {
    this.#queue.look(tenant);
  }
}
