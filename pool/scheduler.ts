import { noMoreWork, type PoolError } from './errors.js';
import { FairQueue, type StopReason } from './fair-queue.js';
import { type Job, refusalOf } from './group.js';
import { Heap } from './queues.js';

/** A task whose turn has come. */
export interface ScheduledTask {
  job: Job;
  /** To be told once of the milliseconds that it has taken, where the tenant had been charged an estimate. */
  settle: (spent: number) => void;
}

/**
 * Tasks that were chosen and could not start: no free thread has loaded their plugin yet, or their helper is slowed and has one that
 * runs.
 */
class Parked {
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
      const clock = canStart(each) ? queue.clockOf(each.asker.tenant) : least;
      if (clock < least) [best, least] = [each, clock];
    }
    if (!best || (tenant === undefined && !queue.isNext(best.asker.tenant))) return undefined;
    this.#all.delete(best);
    return best;
  }
}

/** Whether the task may start now, on a thread that is free. Where none of these has loaded its plugin, one begins to. */
function canStart({ group, task }: Job): boolean {
  if (!group.slowed.mayStart(task)) return false;
  // The thread that its last task has cost is there again first: its neighbours must not wait for that.
  if (group.slowed.has(task) && !group.threads.isFull()) return false;
  if (group.threads.isFree(task)) return true;
  group.threads.prepare(task);
  return false;
}

/** Tasks that wait for a thread, in the order in which their tenants come: shared by time, and by weight. */
class TaskQueue {
  readonly #queue: FairQueue<Job>;
  readonly #parked = new Parked();
  readonly #estimateOf: (job: Job) => number;
  #closed = false;

  /** `estimateOf` gives the charge until a task's real time is known; `stopOf` is as `FairQueue` says. */
  constructor(estimateOf: (job: Job) => number, stopOf?: (tenant: string) => StopReason | undefined) {
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
  take(tenant?: string): ScheduledTask | undefined {
    for (;;) {
      const parked = this.#parked.takeFree(this.#queue, tenant);
      if (parked) return this.#restart(parked);
      const next = this.#choose(tenant);
      if (!next || canStart(next.job)) return next;
      // Every group has a thread for each task that may run; but this one's plugin is to be loaded, or its helper is slowed. Until it
      // starts its tenant is not charged: what it waits for is no work that the tenant has received.
      next.settle(0);
      this.#parked.add(next.job);
    }
  }

  #restart(job: Job): ScheduledTask {
    const { tenant, weight } = job.asker;
    const estimate = this.#estimateOf(job);
    this.#queue.restart(tenant, estimate, weight);
    return { job, settle: (spent) => this.#queue.settle(tenant, estimate, spent) };
  }

  #choose(tenant?: string): ScheduledTask | undefined {
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

/** The part of the pool's time that each tenant with tasks behind gets while calls wait, and that all these tenants get together at most. */
const shareEach = 0.05;
const shareOfAll = 0.5;
/** Milliseconds of its share that a tenant keeps while it has no task that could start: about what it takes to bring its next one. */
const mostOwedMs = 50;

interface ShareAccount {
  readonly tenant: string;
  /** Up to which value of `#due` the tenant has had its share. */
  had: number;
}

/**
 * Tasks that wait in two classes. Clients wait for those of `calls`; those `behind` start while no call can, and beside calls as far as
 * their tenant's share goes: without one, a few clients that keep every thread busy would hold up all jobs for good.
 */
export class Scheduler {
  readonly calls: TaskQueue;
  readonly behind: TaskQueue;
  readonly #estimateOf: (job: Job) => number;
  /** Milliseconds that a tenant is due that had tasks behind all the time. */
  #due = 0;
  readonly #accounts = new Map<string, ShareAccount>();
  /** Accounts of tenants that have tasks behind, or had some until a moment ago: the one that is owed most comes first. */
  readonly #owed = new Heap<ShareAccount>((a, b) => a.had < b.had);

  /** What stops a tenant's calls, see `FairQueue`, is their answers: nobody reads those of tasks behind. */
  constructor(estimateOf: (job: Job) => number, stopOf?: (tenant: string) => StopReason | undefined) {
    this.#estimateOf = estimateOf;
    this.calls = new TaskQueue(estimateOf, stopOf);
    this.behind = new TaskQueue(estimateOf);
  }

  get size(): number {
    return this.calls.size + this.behind.size;
  }

  push(job: Job): void {
    if (job.asker.behind) this.#join(job.asker.tenant);
    this.#classOf(job).push(job);
  }

  /** Takes the next task that a thread can run now; undefined where there is none. */
  take(): ScheduledTask | undefined {
    if (this.behind.size === 0) return this.calls.take();
    const owed = this.calls.size > 0 ? this.#takeOwed() : undefined;
    if (owed) return owed;
    const call = this.calls.take();
    return call ? this.#countCall(call) : this.#takeFree();
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
  *refused(): ReturnType<TaskQueue['refused']> {
    yield* this.calls.refused();
    yield* this.behind.refused();
  }

  #join(tenant: string): void {
    const account = this.#accounts.get(tenant) ?? { tenant, had: this.#due };
    account.had = Math.max(account.had, this.#due - mostOwedMs);
    this.#accounts.set(tenant, account);
    this.#owed.place(account);
  }

  /** Takes a task behind whose tenant has had less than its share. */
  #takeOwed(): ScheduledTask | undefined {
    const passed: ShareAccount[] = [];
    try {
      for (let next = this.#owed.first(); next && next.had < this.#due; next = this.#owed.first()) {
        const chosen = this.behind.take(next.tenant);
        if (chosen) return this.#charge(next, chosen);
        this.#owed.delete(next);
        if (this.behind.waits(next.tenant) || next.had > this.#due - mostOwedMs) passed.push(next);
        else this.#accounts.delete(next.tenant);
      }
      return undefined;
    } finally {
      for (const account of passed) this.#owed.place(account);
    }
  }

  #charge(account: ShareAccount, { job, settle }: ScheduledTask): ScheduledTask {
    const estimate = this.#estimateOf(job);
    account.had = Math.max(account.had, this.#due - mostOwedMs) + estimate;
    this.#owed.place(account);
    return {
      job,
      settle: (spent) => {
        // It may have been forgotten, and made anew, while the task ran.
        const current = this.#accounts.get(account.tenant) ?? account;
        current.had += spent - estimate;
        this.#accounts.set(account.tenant, current);
        this.#owed.place(current);
        settle(spent);
      },
    };
  }

  /** Takes the next task behind while no call can start: it costs no call anything, and so only uses up what its tenant is owed. */
  #takeFree(): ScheduledTask | undefined {
    const chosen = this.behind.take();
    const account = chosen && this.#accounts.get(chosen.job.asker.tenant);
    if (account && account.had < this.#due) {
      account.had = Math.min(this.#due, account.had + this.#estimateOf(chosen.job));
      this.#owed.place(account);
    }
    return chosen;
  }

  /** Makes tenants with tasks behind due of their part of the time that a call takes. */
  #countCall({ job, settle }: ScheduledTask): ScheduledTask {
    const tenants = Math.max(1, this.behind.tenants);
    const part = Math.min(shareEach, shareOfAll / tenants);
    const rate = part / (1 - part * tenants);
    const estimate = this.#estimateOf(job);
    this.#due += estimate * rate;
    return {
      job,
      settle: (spent) => {
        this.#due += (spent - estimate) * rate;
        settle(spent);
      },
    };
  }

  #classOf({ asker }: Job): TaskQueue {
    return asker.behind ? this.behind : this.calls;
  }
}
