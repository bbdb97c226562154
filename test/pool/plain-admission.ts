import type { Expected, Refusal, Release } from '../../pool/admission.js';
import type { Asker } from '../../pool/asker.js';

interface Lane {
  weight: number;
  tasks: number;
  held: number;
  expected: number;
}

interface Holding {
  asker: Asker;
  decide: (verdict: 'now' | Refusal) => void;
}

const soonMs = 500;

/** What `Admission` does, in the plainest way: every call looks at all lanes, every change at all that are held back. */
export class PlainAdmission {
  readonly #capacity: number;
  readonly #lanes = new Map<string, Lane>();
  readonly #holding = new Set<Holding>();
  #held = 0;
  #expected = 0;

  constructor(capacity: number) {
    this.#capacity = capacity;
  }

  get size(): number {
    return this.#held;
  }

  take(asker: Asker, places = 1): Release | Refusal {
    const verdict = this.#judge(asker);
    return verdict === 'now' || verdict === 'later' ? this.hold(asker, places) : verdict;
  }

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
    const { tasks, held, expected } = this.#lanes.get(tenant) ?? { tasks: 0, held: 0, expected: 0 };
    if (most !== null && tasks >= most) return 'tenant_busy';
    const full = this.#held + this.#expected >= this.#capacity;
    const share = full ? this.#shareOf(tenant, weight) : this.#capacity;
    if (this.#held >= this.#capacity && held >= share) {
      return this.#lanes.size > 1 && held > share ? 'tenant_busy' : 'busy';
    }
    if (most !== null && tasks + expected >= most) return 'later';
    return full && held + expected >= share ? 'later' : 'now';
  }

  #shareOf(tenant: string, weight: number): number {
    let weights = this.#lanes.has(tenant) ? 0 : weight;
    for (const lane of this.#lanes.values()) weights += lane.weight;
    return (this.#capacity * weight) / weights;
  }

  hold({ tenant, weight }: Asker, places = 1): Release {
    const lane = this.#lane(tenant, weight);
    lane.tasks += 1;
    lane.held += places;
    this.#held += places;
    return () => {
      lane.tasks -= 1;
      lane.held -= places;
      this.#held -= places;
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
      arrive: (places) => {
        forget();
        return this.hold(asker, places);
      },
      cancel,
    };
  }

  #lane(tenant: string, weight: number): Lane {
    let lane = this.#lanes.get(tenant);
    if (!lane) {
      lane = { weight, tasks: 0, held: 0, expected: 0 };
      this.#lanes.set(tenant, lane);
    }
    lane.weight = weight;
    return lane;
  }

  #changed(tenant: string): void {
    // One that waits for a place counts as one that has some, until it is let in.
    if (![...this.#holding].some(({ asker }) => asker.tenant === tenant)) this.#forgetIfEmpty(tenant);
    const waiting = new Set<string>();
    for (const { asker, decide } of this.#holding) {
      // Tenants are alike to themselves: where one call has to wait, the later ones do too.
      if (waiting.has(asker.tenant)) continue;
      const verdict = this.#judge(asker);
      if (verdict === 'later') waiting.add(asker.tenant);
      else decide(verdict);
    }
    this.#forgetIfEmpty(tenant);
  }

  #forgetIfEmpty(tenant: string): void {
    const lane = this.#lanes.get(tenant);
    if (lane && lane.held + lane.expected === 0) this.#lanes.delete(tenant);
  }
}
