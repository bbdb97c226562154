import { FairQueue } from '../../../pool/fair-queue.js';

/** A place for one item of a tenant. */
export interface Share {
  readonly tenant: string;
  /** To be told once of the milliseconds that its item has cost; 0 where there was none. */
  settle(spent: number): void;
}

interface Ticket {
  tenant: string;
}

/** What is charged before an item's cost is known, where none of its tenant's has ended. */
const firstGuessMs = 50;

/**
 * Says of which tenant the next item is to be taken: of all that may have one, the one that has had least, by the time that its items
 * took and its weight. It is start-time fair queueing, in which each tenant has one ticket that stands for all its items.
 */
export class TenantShares {
  readonly #queue = new FairQueue<Ticket>();
  readonly #tickets = new Map<string, Ticket>();
  readonly #weights = new Map<string, number>();
  /** Running means of what items cost, in milliseconds. */
  readonly #means = new Map<string, number>();
  #typical = firstGuessMs;

  /** What an item is likely to cost, whosever it is, in milliseconds. */
  get typical(): number {
    return this.#typical;
  }

  /** Says that a tenant may have items. */
  open(tenant: string): void {
    if (this.#tickets.has(tenant)) return;
    const ticket = { tenant };
    this.#tickets.set(tenant, ticket);
    this.#queue.push(tenant, ticket, this.#weights.get(tenant));
  }

  /** Says that it has none at the moment. */
  close(tenant: string): void {
    const ticket = this.#tickets.get(tenant);
    if (!ticket) return;
    this.#tickets.delete(tenant);
    this.#queue.remove(tenant, ticket);
  }

  /** Says what a tenant's weight is, from its next item on. */
  weigh(tenant: string, weight: number): void {
    this.#weights.set(tenant, weight);
  }

  /** The next tenant's place; undefined where none has anything. */
  next(): Share | undefined {
    const next = this.#queue.shift((ticket) => this.#estimate(ticket));
    if (!next) return undefined;
    const { tenant } = next;
    const estimate = this.#estimate(next);
    this.#tickets.delete(tenant);
    this.open(tenant);
    return {
      tenant,
      settle: (spent) => {
        if (spent > 0) this.#learn(tenant, spent);
        this.#queue.settle(tenant, estimate, spent);
      },
    };
  }

  #estimate({ tenant }: Ticket): number {
    return this.#means.get(tenant) ?? this.#typical;
  }

  #learn(tenant: string, spent: number): void {
    this.#typical = this.#typical * 0.95 + spent * 0.05;
    const mean = this.#means.get(tenant) ?? spent;
    this.#means.set(tenant, mean * 0.8 + spent * 0.2);
  }
}
