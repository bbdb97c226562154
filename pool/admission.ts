import type { Asker } from './asker.js';
import { HeldBack, type Holding, heldPlaces, type Lane, loadOf, placesOf } from './held-back.js';
import { Line } from './line.js';

/** Why work is not taken on: `busy`, everyone's load; `tenant_busy`, this tenant's own. */
export type Refusal = 'busy' | 'tenant_busy';

/** A right to a place for work whose input is still on its way. */
export interface Expected {
  /** The input is complete: takes its places, whatever has become of the others meanwhile. */
  arrive(places?: number): Release;
  /** The input will not come. */
  cancel(): void;
}

/** Gives a place back; to be called once. */
export type Release = () => void;

type Counts = Partial<Pick<Lane<Waiting>, 'held' | 'extra' | 'expected'>>;

interface Waiting extends Holding {
  /** Makes what `expect` resolves with of the verdict, and gives how to tell it. */
  decide: (verdict: 'now' | Refusal) => () => void;
}

const nothing = { held: 0, extra: 0, expected: 0 };

/** How long input that is on its way counts as good as here, and how long a newcomer waits to see whether it is. */
const soonMs = 500;

/**
 * Bounds how much work is accepted at all, fairly. While there is room everybody gets a place; when there is none, a tenant
 * still gets up to its share of all places (by weight, among the tenants that have any), so a flood from one fills only
 * room that nobody else wants. What has a place keeps it: input that has arrived whole is never thrown away.
 * A task that is known to be heavy counts for several places; it is let in where one is free, and then fills what comes after.
 *
 * Input that is on its way (a body, a download) holds no place, for it may never come. It is expected for half a second:
 * newcomers beyond what the places and the expected fill are held back that long before anything is fetched for them, so
 * that a burst of downloads is refused where it cannot be worked on, and a crowd of stalled ones refuses nobody.
 */
export class Admission {
  readonly #capacity: number;
  readonly #lanes = new Map<string, Lane<Waiting>>();
  readonly #heldBack = new HeldBack<Waiting>();
  #heldBackBefore = 0;
  #held = 0;
  #extra = 0;
  #expected = 0;
  /** Of all lanes. */
  #weights = 0;

  constructor(capacity: number) {
    this.#capacity = capacity;
  }

  /** Places taken by complete work, waiting and running. */
  get size(): number {
    return this.#held + this.#extra;
  }

  /** Tasks that have taken them. */
  get tasks(): number {
    return this.#held;
  }

  /** Takes places for work that is complete, or says why there are none. */
  take(asker: Asker, places = 1): Release | Refusal {
    const verdict = this.#judge(asker);
    return verdict === 'now' || verdict === 'later' ? this.hold(asker, places) : verdict;
  }

  /** Asks, before a body is read or a download begun, whether the work would be accepted; resolves within half a second. */
  expect(asker: Asker): Promise<Expected | Refusal> {
    const verdict = this.#judge(asker);
    if (verdict === 'later') return new Promise((resolve) => this.#holdBack(asker, resolve));
    return Promise.resolve(verdict === 'now' ? this.#expect(asker) : verdict);
  }

  /** Takes places for work that was accepted before, whatever the bounds: what has arrived is not refused half-way. */
  hold({ tenant, weight }: Asker, places = 1): Release {
    const lane = this.#lane(tenant, weight);
    const extra = places - 1;
    this.#count(lane, { held: 1, extra });
    return () => {
      this.#count(lane, { held: -1, extra: -extra });
      this.#changed(lane);
    };
  }

  #holdBack(asker: Asker, resolve: (answer: Expected | Refusal) => void): void {
    // Where something has to wait, its tenant has or expects places already.
    const lane = this.#lane(asker.tenant, asker.weight);
    const timer = setTimeout(() => {
      const late = this.#judge(asker);
      // What it was held back for has not come: that is slow, and no reason to wait.
      waiting.decide(late === 'later' ? 'now' : late)();
    }, soonMs);
    this.#heldBackBefore += 1;
    const waiting: Waiting = {
      asker,
      order: this.#heldBackBefore,
      decide: (verdict) => {
        clearTimeout(timer);
        this.#heldBack.delete(lane, waiting);
        const answer = verdict === 'now' ? this.#expect(asker) : verdict;
        return () => resolve(answer);
      },
    };
    this.#heldBack.add(lane, waiting);
  }

  #judge({ tenant, weight, most }: Asker): 'now' | 'later' | Refusal {
    const known = this.#lanes.get(tenant);
    const lane = known ?? nothing;
    if (most !== null && lane.held >= most) return 'tenant_busy';
    const held = heldPlaces(lane);
    const weights = known ? this.#weights : this.#weights + weight;
    const share = this.#isFull() ? (this.#capacity * weight) / weights : this.#capacity;
    if (this.size >= this.#capacity && held >= share) {
      return this.#lanes.size > 1 && held > share ? 'tenant_busy' : 'busy';
    }
    if (most !== null && loadOf(lane) >= most) return 'later';
    return this.#isFull() && placesOf(lane) >= share ? 'later' : 'now';
  }

  #isFull(): boolean {
    return this.size + this.#expected >= this.#capacity;
  }

  #expect(asker: Asker): Expected {
    const lane = this.#lane(asker.tenant, asker.weight);
    this.#count(lane, { expected: 1 });
    let counts = true;
    const forget = () => {
      if (!counts) return;
      counts = false;
      clearTimeout(timer);
      this.#count(lane, { expected: -1 });
    };
    const cancel = () => {
      if (!counts) return;
      forget();
      this.#changed(lane);
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

  #lane(tenant: string, weight: number): Lane<Waiting> {
    let lane = this.#lanes.get(tenant);
    if (!lane) {
      lane = { tenant, weight: 0, held: 0, extra: 0, expected: 0, waiting: new Line(), filed: false };
      this.#lanes.set(tenant, lane);
    }
    this.#weights += weight - lane.weight;
    lane.weight = weight;
    return lane;
  }

  #count(lane: Lane<Waiting>, { held = 0, extra = 0, expected = 0 }: Counts): void {
    lane.held += held;
    this.#held += held;
    lane.extra += extra;
    this.#extra += extra;
    lane.expected += expected;
    this.#expected += expected;
    this.#heldBack.changed(lane);
  }

  /** Looks again at who is held back, and tells those who can be decided in the order in which they came. */
  #changed(lane: Lane<Waiting>): void {
    this.#forgetIfEmpty(lane);
    const decided: { order: number; tell: () => void }[] = [];
    for (let next = this.#decidable(); next; next = this.#decidable()) {
      decided.push({ order: next.waiting.order, tell: next.waiting.decide(next.verdict) });
    }
    decided.sort((a, b) => a.order - b.order);
    for (const { tell } of decided) tell();
    this.#forgetIfEmpty(lane);
  }

  #decidable(): { waiting: Waiting; verdict: 'now' | Refusal } | undefined {
    for (const waiting of this.#heldBack.candidates(this.#isFull())) {
      const verdict = waiting ? this.#judge(waiting.asker) : 'later';
      if (waiting && verdict !== 'later') return { waiting, verdict };
    }
    return undefined;
  }

  #forgetIfEmpty(lane: Lane<Waiting>): void {
    if (loadOf(lane) > 0 || lane.waiting.size > 0 || !this.#lanes.delete(lane.tenant)) return;
    this.#weights -= lane.weight;
  }
}
