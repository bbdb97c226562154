import { FairQueue } from '../../../pool/fair-queue.js';

/** A place for one item of a tenant. */
export interface Share {
  readonly tenant: string;
  /** Whether its item is, or was, one of those that are brought ahead. */
  readonly isAhead: boolean;
  /** To be called at most once: its item waits for its input, and is brought ahead of its time. */
  bringAhead(): void;
  /** To be called once with the milliseconds that its item has cost; 0 where there was none. */
  settle(spent: number): void;
}

/** What is known of one tenant; as the ticket in the queue it stands for all its items. */
interface Tenant {
  readonly id: string;
  weight?: number;
  /** Running mean of what its items cost, in milliseconds. */
  mean?: number;
  open: boolean;
  /** Shares that were given and not settled, and those of them whose items are brought ahead. */
  given: number;
  ahead: number;
  /** Running mean of how many of its items are brought ahead, from 0 to 1. */
  aheadPart: number;
}

/** What is charged before an item's cost is known, where none of its tenant's has ended. */
const firstGuessMs = 50;
/** Tenants without an item that are remembered, for their weight and what their items cost. */
const mostIdle = 1_000;

/** Start-time fair queueing by run time and weight; each tenant has one ticket that stands for all its items. */
export class TenantShares {
  readonly #queue: FairQueue<Tenant>;
  readonly #tenants = new Map<string, Tenant>();
  readonly #mostAhead: () => number;
  /** Tenants with items that are brought ahead. */
  readonly #bringing = new Set<Tenant>();
  #ahead = 0;
  #typical = firstGuessMs;

  /**
   * `mayHave` says whether a tenant that was given so many items may have another. If not, it is asked again together with all such
   * others, or when an item of its own is settled. `mostAhead` is how many items may be brought ahead; each tenant may have its part.
   */
  constructor(
    mayHave: (given: number) => boolean = () => true,
    mostAhead: () => number = () => Number.POSITIVE_INFINITY,
  ) {
    this.#mostAhead = mostAhead;
    this.#queue = new FairQueue((id) => {
      const tenant = this.#tenant(id);
      const ahead = likelyAhead(tenant);
      if (ahead > 0 && ahead >= this.#partAhead()) return 'own';
      return mayHave(tenant.given) ? undefined : 'all';
    });
  }

  get ahead(): number {
    return this.#ahead;
  }

  /** What an item is likely to cost, of any tenant, in milliseconds. */
  get typical(): number {
    return this.#typical;
  }

  get known(): number {
    return this.#tenants.size;
  }

  open(id: string): void {
    const tenant = this.#tenant(id);
    if (tenant.open) return;
    tenant.open = true;
    this.#queue.push(id, tenant, tenant.weight);
  }

  /** Says that it has none at the moment. */
  close(id: string): void {
    const tenant = this.#tenants.get(id);
    if (!tenant?.open) return;
    tenant.open = false;
    this.#queue.remove(id, tenant);
    this.#forget(tenant);
  }

  /** Says what a tenant's weight is, from its next item on. */
  weigh(id: string, weight: number): void {
    this.#tenant(id).weight = weight;
  }

  /** The next tenant's place; undefined where none has anything, or may have more than it has. */
  next(): Share | undefined {
    const next = this.#queue.shift((tenant) => this.#estimate(tenant));
    if (!next) return undefined;
    const { item: tenant } = next;
    const estimate = this.#estimate(tenant);
    this.#queue.push(tenant.id, tenant, tenant.weight);
    tenant.given += 1;
    let isAhead = false;
    return {
      tenant: tenant.id,
      get isAhead() {
        return isAhead;
      },
      bringAhead: () => {
        isAhead = true;
        this.#countAhead(tenant, 1);
      },
      settle: (spent) => {
        tenant.given -= 1;
        if (isAhead) this.#countAhead(tenant, -1);
        if (spent > 0) this.#learn(tenant, spent, isAhead);
        this.#queue.settle(tenant.id, estimate, spent);
        this.#queue.look(tenant.id);
        this.#forget(tenant);
      },
    };
  }

  #countAhead(tenant: Tenant, change: 1 | -1): void {
    this.#ahead += change;
    tenant.ahead += change;
    if (tenant.ahead > 0) this.#bringing.add(tenant);
    else this.#bringing.delete(tenant);
    if (change > 0) return;
    // Several are leased at a time: that costs as much as one.
    const part = this.#partAhead() * 0.75;
    for (const each of this.#bringing) if (each.ahead <= part) this.#queue.look(each.id);
  }

  /** What each of those that bring any may bring; a newcomer makes the parts smaller, and may be above its own for a while. */
  #partAhead(): number {
    return this.#mostAhead() / Math.max(1, this.#bringing.size);
  }

  #tenant(id: string): Tenant {
    const known = this.#tenants.get(id);
    if (known) return known;
    const made = { id, open: false, given: 0, ahead: 0, aheadPart: 0 };
    this.#tenants.set(id, made);
    return made;
  }

  /** One that has nothing is forgotten where many are known; at its next item it begins with what is typical. */
  #forget({ id, open, given }: Tenant): void {
    if (!open && given === 0 && this.#tenants.size > mostIdle) this.#tenants.delete(id);
  }

  #estimate({ mean }: Tenant): number {
    return mean ?? this.#typical;
  }

  #learn(tenant: Tenant, spent: number, isAhead: boolean): void {
    tenant.aheadPart = tenant.aheadPart * 0.8 + (isAhead ? 0.2 : 0);
    this.#typical = this.#typical * 0.95 + spent * 0.05;
    tenant.mean = (tenant.mean ?? spent) * 0.8 + spent * 0.2;
  }
}

/** Items that are brought ahead, or are likely to be: several are given at a time, before any of them comes to its download. */
function likelyAhead({ given, ahead, aheadPart }: Tenant): number {
  return ahead + Math.round((given - ahead) * aheadPart);
}
