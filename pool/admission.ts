/** Why a place was refused or taken back: `busy`, everyone's load; `tenant_busy`, this tenant's own. */
export type Refusal = 'busy' | 'tenant_busy';

interface Entry {
  tenant: string;
  weight: number;
  /** A running task cannot be sent away any more. */
  running: boolean;
  evict: () => void;
}

/** A place taken in the queue. */
export interface Ticket {
  /** Says that the work has started: from now on the place cannot be taken back. */
  start(): void;
  /** Gives the place back; calling it twice is harmless. */
  release(): void;
}

/**
 * Bounds how much work is accepted at all, fairly: while there is room everybody gets a place, and when there is none,
 * a tenant with less than the largest holder takes the place of that holder's newest work that has not started.
 * This is longest-queue-drop with push-out (McKenney, "Stochastic fairness queueing", 1990): a flood from one tenant
 * fills only room that nobody else wants.
 */
export class Admission {
  readonly #capacity: number;
  readonly #entries = new Set<Entry>();

  constructor(capacity: number) {
    this.#capacity = capacity;
  }

  /** Places taken, waiting and running. */
  get size(): number {
    return this.#entries.size;
  }

  /** Takes a place or says why there is none. `evict` is called, at once or later, if the place is taken back. */
  take(tenant: string, weight: number, evict: () => void): Ticket | Refusal {
    if (this.#entries.size >= this.#capacity) {
      const refusal = this.#makeRoom(tenant, weight);
      if (refusal) return refusal;
    }
    const entry: Entry = { tenant, weight, running: false, evict };
    this.#entries.add(entry);
    return {
      start: () => {
        entry.running = true;
      },
      release: () => {
        this.#entries.delete(entry);
      },
    };
  }

  #makeRoom(tenant: string, weight: number): Refusal | undefined {
    const shares = new Map<string, number>();
    for (const entry of this.#entries) {
      shares.set(entry.tenant, (shares.get(entry.tenant) ?? 0) + 1 / entry.weight);
    }
    const own = shares.get(tenant) ?? 0;
    const largest = Math.max(0, ...shares.values());
    if (own + 1 / weight < largest) {
      const victim = this.#newestWaitingOf(shares, largest);
      if (victim) {
        this.#entries.delete(victim);
        victim.evict();
        return undefined;
      }
    }
    const alone = shares.size === (shares.has(tenant) ? 1 : 0);
    const average = [...shares.values()].reduce((sum, share) => sum + share, 0) / Math.max(1, shares.size);
    return !alone && own > average ? 'tenant_busy' : 'busy';
  }

  #newestWaitingOf(shares: Map<string, number>, share: number): Entry | undefined {
    let newest: Entry | undefined;
    for (const entry of this.#entries) {
      if (!entry.running && shares.get(entry.tenant) === share) newest = entry;
    }
    return newest;
  }
}
