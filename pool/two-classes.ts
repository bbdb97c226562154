import type { Stop } from './fair-queue.js';
import type { Job } from './group.js';
import { Heap } from './heap.js';
import type { Chosen } from './parked.js';
import type { PoolError } from './pool-error.js';
import { Waiting } from './waiting.js';

/** The part of the pool's time that each tenant with tasks behind gets while calls wait, and that all these tenants get together at most. */
const shareEach = 0.05;
const shareOfAll = 0.5;
/** Milliseconds of its share that a tenant keeps while it has no task that could start: about what it takes to bring its next one. */
const mostOwedMs = 50;

interface Account {
  readonly tenant: string;
  /** Up to which value of `#due` the tenant has had its share. */
  had: number;
}

/**
 * Tasks that wait in two classes. Clients wait for those of `calls`; those `behind` start while no call can, and beside calls as far as
 * their tenant's share goes: without one, a few clients that keep every thread busy would hold up all jobs for good.
 */
export class TwoClasses {
  readonly calls: Waiting;
  readonly behind: Waiting;
  readonly #estimateOf: (job: Job) => number;
  /** Milliseconds that a tenant is due that had tasks behind all the time. */
  #due = 0;
  readonly #accounts = new Map<string, Account>();
  /** Accounts of tenants that have tasks behind, or had some until a moment ago: the one that is owed most comes first. */
  readonly #owed = new Heap<Account>((a, b) => a.had < b.had);

  /** What stops a tenant's calls, see `FairQueue`, is their answers: nobody reads those of tasks behind. */
  constructor(estimateOf: (job: Job) => number, stopOf?: (tenant: string) => Stop | undefined) {
    this.#estimateOf = estimateOf;
    this.calls = new Waiting(estimateOf, stopOf);
    this.behind = new Waiting(estimateOf);
  }

  get size(): number {
    return this.calls.size + this.behind.size;
  }

  push(job: Job): void {
    if (job.asker.behind) this.#join(job.asker.tenant);
    this.#classOf(job).push(job);
  }

  /** Takes the next task that a thread can run now; undefined where there is none. */
  take(): Chosen | undefined {
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
  *refused(): ReturnType<Waiting['refused']> {
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
  #takeOwed(): Chosen | undefined {
    const passed: Account[] = [];
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

  #charge(account: Account, { job, settle }: Chosen): Chosen {
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
  #takeFree(): Chosen | undefined {
    const chosen = this.behind.take();
    const account = chosen && this.#accounts.get(chosen.job.asker.tenant);
    if (account && account.had < this.#due) {
      account.had = Math.min(this.#due, account.had + this.#estimateOf(chosen.job));
      this.#owed.place(account);
    }
    return chosen;
  }

  /** Makes tenants with tasks behind due of their part of the time that a call takes. */
  #countCall({ job, settle }: Chosen): Chosen {
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

  #classOf({ asker }: Job): Waiting {
    return asker.behind ? this.behind : this.calls;
  }
}
