import { performance } from 'node:perf_hooks';
import type { Requester } from './admission.js';
import type { TaskCall } from './context/messages.js';
import { noMoreWork, type PoolError } from './errors.js';
import { FairQueue, Heap, type StopReason } from './fair-queue.js';
import { serviceOf, type Task, type TaskOutcome } from './task.js';

/** How a task has ended: `late` past its deadline, `failed` before that, with its thread or unsent. */
export type TaskEnd = 'in time' | 'late' | 'failed';

/** A helper that is late again within this time is slowed. */
const lateAgainMs = 60_000;

/**
 * Helpers whose calls run into their deadline again and again: of each of them one task runs at a time, so that the other threads serve
 * its neighbours, until it has answered in time again.
 */
export class SlowedHelpers {
  readonly #onChange: (service: string, isSlowed: boolean) => void;
  /** When each was late last. */
  readonly #lateAt = new Map<string, number>();
  readonly #running = new Map<string, number>();
  readonly #slowed = new Set<string>();

  constructor(onChange: (service: string, isSlowed: boolean) => void = () => undefined) {
    this.#onChange = onChange;
  }

  services(): readonly string[] {
    return [...this.#slowed];
  }

  has(task: Task): boolean {
    return task.kind === 'call' && this.#slowed.has(serviceOf(task));
  }

  mayStart(task: Task): boolean {
    return task.kind !== 'call' || !this.has(task) || !this.#running.has(serviceOf(task));
  }

  began(task: Task): void {
    if (task.kind !== 'call') return;
    const service = serviceOf(task);
    this.#running.set(service, (this.#running.get(service) ?? 0) + 1);
  }

  ended(task: Task, end: TaskEnd): void {
    if (task.kind !== 'call') return;
    const service = serviceOf(task);
    const running = (this.#running.get(service) ?? 1) - 1;
    if (running > 0) this.#running.set(service, running);
    else this.#running.delete(service);
    if (end === 'late') this.#late(service);
    else if (end === 'in time' && this.#slowed.delete(service)) this.#onChange(service, false);
  }

  #late(service: string): void {
    const now = performance.now();
    const isAgain = now - (this.#lateAt.get(service) ?? Number.NEGATIVE_INFINITY) <= lateAgainMs;
    this.#lateAt.set(service, now);
    if (!isAgain || this.#slowed.has(service)) return;
    this.#slowed.add(service);
    this.#onChange(service, true);
  }
}

/** A task that waits for a thread, or runs. */
export interface Job extends TaskCall {
  task: Task;
  requester: Requester;
  /** When it was queued, by `performance.now()`. */
  since: number;
  resolve: (outcome: TaskOutcome) => void;
  reject: (error: unknown) => void;
}

/** A task that is to start now. */
export interface ScheduledTask {
  job: Job;
  /** To be called once, with the milliseconds that it took: the tenant was charged an estimate. */
  settle: (spent: number) => void;
}

/** What the scheduler has to know of the threads. */
export interface SchedulerOptions {
  /** Milliseconds that a task is charged until its real time is known. */
  estimate(job: Job): number;
  /** Whether a thread can run the task now. Where its plugin has to be loaded first, that begins. */
  canStart(job: Job): boolean;
  /** Why the task is not to wait, where no thread will be able to run it soon. */
  refusal(job: Job): PoolError | undefined;
  /** Why no task of this tenant may start, see `FairQueue`. */
  stopOf?: ((tenant: string) => StopReason | undefined) | undefined;
}

/** Tasks of one class, in the order in which the fair queue gives them. */
class TaskQueue {
  readonly #options: SchedulerOptions;
  readonly #queue: FairQueue<Job>;
  /** Tasks that were chosen and could not start: their plugin is being loaded, or their helper is slowed and has one that runs. */
  readonly #parked = new Set<Job>();
  #closed = false;

  constructor(options: SchedulerOptions) {
    this.#options = options;
    this.#queue = new FairQueue(options.stopOf);
  }

  get size(): number {
    return this.#queue.size + this.#parked.size;
  }

  /** Tenants with tasks in the fair queue. */
  get tenants(): number {
    return this.#queue.tenants;
  }

  waits(tenant: string): boolean {
    return (
      this.#queue.waits(tenant) || [...this.#parked].some(({ requester }) => requester.tenant === tenant)
    );
  }

  push(job: Job): void {
    this.#queue.push(job.requester.tenant, job, job.requester.weight);
  }

  /** Removes and returns the next task that a thread can run now, of all tenants or of this one. */
  take(tenant?: string): ScheduledTask | undefined {
    const { estimate, canStart } = this.#options;
    for (;;) {
      const parked = this.#takeParked(tenant);
      const job = parked ?? this.#queue.shift(estimate, tenant)?.item;
      if (!job) return undefined;
      const { tenant: owner, weight } = job.requester;
      const charged = estimate(job);
      if (parked) this.#queue.restart(owner, charged, weight);
      else if (!canStart(job)) {
        // Until it starts its tenant is not charged: waiting for a plugin is no work that the tenant has received.
        this.#queue.settle(owner, charged, 0);
        this.#parked.add(job);
        continue;
      }
      return { job, settle: (spent) => this.#queue.settle(owner, charged, spent) };
    }
  }

  /** The oldest parked task that can start of the tenant that has received least, unless one in the queue has received less still. */
  #takeParked(tenant: string | undefined): Job | undefined {
    let best: Job | undefined;
    let least = Number.POSITIVE_INFINITY;
    for (const job of this.#parked) {
      if (tenant !== undefined && job.requester.tenant !== tenant) continue;
      const clock = this.#options.canStart(job) ? this.#queue.clockOf(job.requester.tenant) : least;
      if (clock < least) [best, least] = [job, clock];
    }
    if (!best || (tenant === undefined && !this.#queue.isNext(best.requester.tenant))) return undefined;
    this.#parked.delete(best);
    return best;
  }

  remove(job: Job): boolean {
    return this.#queue.remove(job.requester.tenant, job) || this.#parked.delete(job);
  }

  refusalOf(job: Job): PoolError | undefined {
    return this.#options.refusal(job) ?? (this.#closed ? noMoreWork() : undefined);
  }

  /** Every task that waits for what cannot be had. */
  refused(): [job: Job, refusal: PoolError][] {
    return [...this.#queue.items(), ...this.#parked].flatMap((job): [Job, PoolError][] => {
      const refusal = this.refusalOf(job);
      return refusal ? [[job, refusal]] : [];
    });
  }

  /** From now on nothing may wait here. */
  close(): void {
    this.#closed = true;
  }

  /** A tenant that was stopped may start tasks again. */
  look(tenant: string): void {
    this.#queue.look(tenant);
  }
}

/** The part of the pool's time that each tenant with background tasks gets while calls wait, and that all these tenants get together at most. */
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
 * Tasks that wait in two classes. Clients wait for those of `calls`; those `background` start while no call can, and beside calls as far as
 * their tenant's share goes: without one, a few clients that keep every thread busy would hold up all jobs for good.
 */
export class Scheduler {
  readonly calls: TaskQueue;
  readonly background: TaskQueue;
  readonly #estimate: SchedulerOptions['estimate'];
  /** Milliseconds that a tenant is due that had background tasks all the time. */
  #due = 0;
  readonly #accounts = new Map<string, ShareAccount>();
  /** Accounts of tenants that have background tasks, or had some until a moment ago: the one that is owed most comes first. */
  readonly #owed = new Heap<ShareAccount>((a, b) => a.had < b.had);

  /** What stops a tenant's calls, see `FairQueue`, is their answers: those of background tasks have no reader. */
  constructor(options: SchedulerOptions) {
    this.#estimate = options.estimate;
    this.calls = new TaskQueue(options);
    this.background = new TaskQueue({ ...options, stopOf: undefined });
  }

  get size(): number {
    return this.calls.size + this.background.size;
  }

  push(job: Job): void {
    if (job.requester.background) this.#join(job.requester.tenant);
    this.#classOf(job).push(job);
  }

  /** Takes the next task that a thread can run now; undefined where there is none. */
  take(): ScheduledTask | undefined {
    if (this.background.size === 0) return this.calls.take();
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

  /** Every task that waits for what cannot be had. */
  refused(): [job: Job, refusal: PoolError][] {
    return [...this.calls.refused(), ...this.background.refused()];
  }

  #join(tenant: string): void {
    const account = this.#accounts.get(tenant) ?? { tenant, had: this.#due };
    account.had = Math.max(account.had, this.#due - mostOwedMs);
    this.#accounts.set(tenant, account);
    this.#owed.place(account);
  }

  /** Takes a background task whose tenant has had less than its share. */
  #takeOwed(): ScheduledTask | undefined {
    const passed: ShareAccount[] = [];
    try {
      for (let next = this.#owed.first(); next && next.had < this.#due; next = this.#owed.first()) {
        const chosen = this.background.take(next.tenant);
        if (chosen) return this.#charge(next, chosen);
        this.#owed.delete(next);
        if (this.background.waits(next.tenant) || next.had > this.#due - mostOwedMs) passed.push(next);
        else this.#accounts.delete(next.tenant);
      }
      return undefined;
    } finally {
      for (const account of passed) this.#owed.place(account);
    }
  }

  #charge(account: ShareAccount, { job, settle }: ScheduledTask): ScheduledTask {
    const estimate = this.#estimate(job);
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

  /** Takes the next background task while no call can start: it costs no call anything, and so only uses up what its tenant is owed. */
  #takeFree(): ScheduledTask | undefined {
    const chosen = this.background.take();
    const account = chosen && this.#accounts.get(chosen.job.requester.tenant);
    if (account && account.had < this.#due) {
      account.had = Math.min(this.#due, account.had + this.#estimate(chosen.job));
      this.#owed.place(account);
    }
    return chosen;
  }

  /** Makes tenants with background tasks due of their part of the time that a call takes. */
  #countCall({ job, settle }: ScheduledTask): ScheduledTask {
    const tenants = Math.max(1, this.background.tenants);
    const part = Math.min(shareEach, shareOfAll / tenants);
    const rate = part / (1 - part * tenants);
    const estimate = this.#estimate(job);
    this.#due += estimate * rate;
    return {
      job,
      settle: (spent) => {
        this.#due += (spent - estimate) * rate;
        settle(spent);
      },
    };
  }

  #classOf({ requester }: Job): TaskQueue {
    return requester.background ? this.background : this.calls;
  }
}
