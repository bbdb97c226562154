/** Why work is not taken on: `busy`, everyone's load; `tenant_busy`, this tenant's own. */
export type Refusal = 'busy' | 'tenant_busy';

/** Whose work it is. */
export interface Asker {
  tenant: string;
  /** The tenant's share relative to the others', above 0. */
  weight: number;
  /** Places that the tenant may hold at a time, or null for no limit of its own. */
  most: number | null;
}

/** A right to a place for work whose input is still on its way. */
export interface Expected {
  /** The input is complete: takes the place, whatever has become of the others meanwhile. */
  arrive(): Release;
  /** The input will not come. */
  cancel(): void;
}

/** Gives a place back; to be called once. */
export type Release = () => void;

interface Lane {
  weight: number;
  held: number;
  expected: number;
}

interface Holding {
  asker: Asker;
  decide: (verdict: 'now' | Refusal) => void;
}

/** How long input that is on its way counts as good as here, and how long a newcomer waits to see whether it is. */
const soonMs = 500;

/**
 * Bounds how much work is accepted at all, fairly. While there is room everybody gets a place; when there is none, a tenant
 * still gets up to its share of all places (by weight, among the tenants that have any), so a flood from one fills only
 * room that nobody else wants. What has a place keeps it: input that has arrived whole is never thrown away.
 *
 * Input that is on its way (a body, a download) holds no place, for it may never come. It is expected for half a second:
 * newcomers beyond what the places and the expected fill are held back that long before anything is fetched for them, so
 * that a burst of downloads is refused where it cannot be worked on, and a crowd of stalled ones refuses nobody.
 */
export class Admission {
  readonly #capacity: number;
  readonly #lanes = new Map<string, Lane>();
  readonly #holding = new Set<Holding>();
  #held = 0;
  #expected = 0;

  constructor(capacity: number) {
    this.#capacity = capacity;
  }

  /** Places taken by complete work, waiting and running. */
  get size(): number {
    return this.#held;
  }

  /** Takes a place for work that is complete, or says why there is none. */
  take(asker: Asker): Release | Refusal {
    const verdict = this.#judge(asker);
    return verdict === 'now' || verdict === 'later' ? this.hold(asker) : verdict;
  }

  /** Asks, before a body is read or a download begun, whether the work would be accepted; resolves within half a second. */
  expect(asker: Asker): Promise<Expected | Refusal> {
    const verdict = this.#judge(asker);
    if (verdict !== 'later') return Promise.resolve(verdict === 'now' ? this.#expect(asker) : verdict);
    return new Promise((resolve) => {
      const decide = (now: 'now' | Refusal) => {
        clearTimeout(timer);
        this.#holding.delete(holding);
        resolve(now === 'now' ? this.#expect(asker) : now);
      };
      const holding: Holding = { asker, decide };
      const timer = setTimeout(() => {
        const late = this.#judge(asker);
        // What it was held back for has not come: that is slow, and no reason to wait.
        decide(late === 'later' ? 'now' : late);
      }, soonMs);
      this.#holding.add(holding);
    });
  }

  #judge({ tenant, weight, most }: Asker): 'now' | 'later' | Refusal {
    const { held, expected } = this.#lanes.get(tenant) ?? { held: 0, expected: 0 };
    if (most !== null && held >= most) return 'tenant_busy';
    const full = this.#held + this.#expected >= this.#capacity;
    const share = full ? this.#shareOf(tenant, weight) : this.#capacity;
    if (this.#held >= this.#capacity && held >= share) {
      return this.#lanes.size > 1 && held > share ? 'tenant_busy' : 'busy';
    }
    if (most !== null && held + expected >= most) return 'later';
    return full && held + expected >= share ? 'later' : 'now';
  }

  #shareOf(tenant: string, weight: number): number {
    let weights = this.#lanes.has(tenant) ? 0 : weight;
    for (const lane of this.#lanes.values()) weights += lane.weight;
    return (this.#capacity * weight) / weights;
  }

  /** Takes a place for work that was accepted before, whatever the bounds: what has arrived is not refused half-way. */
  hold({ tenant, weight }: Asker): Release {
    const lane = this.#lane(tenant, weight);
    lane.held += 1;
    this.#held += 1;
    return () => {
      lane.held -= 1;
      this.#held -= 1;
      this.#changed(tenant);
    };
  }

  #expect(asker: Asker): Expected {
    const lane = this.#lane(asker.tenant, asker.weight);
    lane.expected += 1;
    this.#expected += 1;
    let counts = true;
    const forget = () => {
      if (!counts) return;
      counts = false;
      clearTimeout(timer);
      lane.expected -= 1;
      this.#expected -= 1;
    };
    const cancel = () => {
      if (!counts) return;
      forget();
      this.#changed(asker.tenant);
    };
    const timer = setTimeout(cancel, soonMs);
    return {
      arrive: () => {
        forget();
        return this.hold(asker);
      },
      cancel,
    };
  }

  #lane(tenant: string, weight: number): Lane {
    let lane = this.#lanes.get(tenant);
    if (!lane) {
      lane = { weight, held: 0, expected: 0 };
      this.#lanes.set(tenant, lane);
    }
    lane.weight = weight;
    return lane;
  }

  /** Looks again at who is held back, in the order in which they came. */
  #changed(tenant: string): void {
    const lane = this.#lanes.get(tenant);
    if (lane && lane.held + lane.expected === 0) this.#lanes.delete(tenant);
    const waiting = new Set<string>();
    for (const { asker, decide } of this.#holding) {
      // Tenants are alike to themselves: where one call has to wait, the later ones do too.
      if (waiting.has(asker.tenant)) continue;
      const verdict = this.#judge(asker);
      if (verdict === 'later') waiting.add(asker.tenant);
      else decide(verdict);
    }
  }
}
