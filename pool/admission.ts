import { Fifo, Heap } from './queues.js';

/** Whose work it is. */
export interface Requester {
  tenant: string;
  /** The tenant's share relative to the others', a whole number above 0. */
  weight: number;
  /** Places that the tenant may hold at a time, or null for no limit of its own. */
  most: number | null;
  /** Whether it can wait: its tasks then stand behind every other's. */
  behind?: boolean;
}

/** What is counted of one tenant that has, expects or waits for a place. */
interface TenantSlots<W extends DeferredRequest> {
  readonly tenant: string;
  weight: number;
  /** Tasks that have a place. */
  held: number;
  /** Places that they hold beyond one each, being heavy. */
  extra: number;
  /** Of input on its way nobody knows what it will be: it counts for one place each. */
  expected: number;
  readonly waiting: Fifo<W>;
  /** Whether it is among those of which calls are held back. */
  filed: boolean;
}

/** A call that waits to be let in or refused. */
interface DeferredRequest {
  readonly asker: Requester;
  /** The how-manieth call that was held back it is. */
  readonly order: number;
}

/**
 * Calls that are held back, and those of them that may be decided next: calls of a tenant are alike, so only its oldest
 * one is ever asked about, and of all tenants only those that come first by what they are judged by.
 */
class DeferredRequests<W extends DeferredRequest> {
  /** Tenants that may have another place, as far as their own limit goes. */
  readonly #oldest = new Heap<TenantSlots<W>>(isOlder);
  readonly #leastLoaded = new Heap<TenantSlots<W>>(
    (a, b) => slotsOf(a) * oldestOf(b).asker.weight < slotsOf(b) * oldestOf(a).asker.weight,
  );
  /** Tenants that hold all the places that they may. */
  readonly #sated = new Heap<TenantSlots<W>>(isOlder);
  /** All. */
  readonly #mostHeld = new Heap<TenantSlots<W>>(
    (a, b) => heldSlots(a) * oldestOf(b).asker.weight > heldSlots(b) * oldestOf(a).asker.weight,
  );

  add(lane: TenantSlots<W>, holding: W): void {
    lane.waiting.add(holding);
    this.changed(lane);
  }

  delete(lane: TenantSlots<W>, holding: W): void {
    lane.waiting.delete(holding);
    this.changed(lane);
  }

  /** To be called whenever a tenant's numbers have changed. */
  changed(lane: TenantSlots<W>): void {
    const holding = lane.waiting.first();
    if (!holding && !lane.filed) return;
    lane.filed = holding !== undefined;
    const most = holding?.asker.most ?? Number.POSITIVE_INFINITY;
    const open = lane.filed && tasksOf(lane) < most;
    setMember(lane, this.#oldest, open);
    setMember(lane, this.#leastLoaded, open);
    setMember(lane, this.#sated, lane.filed && lane.held >= most);
    setMember(lane, this.#mostHeld, lane.filed);
  }

  /**
   * Calls of which one can be decided, if any can: of a tenant that holds all that it may, the oldest while there is room, of
   * the least loaded tenant while there is none, and of the tenant that would be refused before any other.
   */
  candidates(full: boolean): (W | undefined)[] {
    const letIn = full ? this.#leastLoaded : this.#oldest;
    return [this.#sated, letIn, this.#mostHeld].map((heap) => heap.first()?.waiting.first());
  }
}

type SlotCounts = Pick<TenantSlots<DeferredRequest>, 'held' | 'extra' | 'expected'>;

/** Tasks that a tenant has and expects. */
function tasksOf({ held, expected }: SlotCounts): number {
  return held + expected;
}

/** Places that a tenant holds. */
function heldSlots({ held, extra }: SlotCounts): number {
  return held + extra;
}

/** Places that a tenant holds and expects. */
function slotsOf(counts: SlotCounts): number {
  return heldSlots(counts) + counts.expected;
}

function oldestOf<W extends DeferredRequest>({ waiting }: TenantSlots<W>): W {
  return waiting.first() as W;
}

function isOlder(a: TenantSlots<DeferredRequest>, b: TenantSlots<DeferredRequest>): boolean {
  return oldestOf(a).order < oldestOf(b).order;
}

function setMember<W extends DeferredRequest>(
  lane: TenantSlots<W>,
  heap: Heap<TenantSlots<W>>,
  belongs: boolean,
): void {
  if (belongs) heap.place(lane);
  else heap.delete(lane);
}

/** Why work is not taken on: `busy`, everyone's load; `tenant_busy`, this tenant's own. */
export type Refusal = 'busy' | 'tenant_busy';

/** A right to a place for work whose input is still on its way. */
export interface Reservation {
  /** The input is complete: takes its places, whatever has become of the others meanwhile. */
  arrive(places?: number): Release;
  /** The input will not come. */
  cancel(): void;
}

/** Gives a place back; to be called once. */
export type Release = () => void;

type CountChange = Partial<Pick<TenantSlots<PendingReservation>, 'held' | 'extra' | 'expected'>>;

interface PendingReservation extends DeferredRequest {
  /** Makes what `expect` resolves with of the verdict, and gives how to tell it. */
  decide: (verdict: 'now' | Refusal) => () => void;
}

const noSlots = { held: 0, extra: 0, expected: 0 };

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
  readonly #lanes = new Map<string, TenantSlots<PendingReservation>>();
  readonly #heldBack = new DeferredRequests<PendingReservation>();
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
  take(asker: Requester, places = 1): Release | Refusal {
    const verdict = this.#judge(asker);
    return verdict === 'now' || verdict === 'later' ? this.hold(asker, places) : verdict;
  }

  /** Asks, before a body is read or a download begun, whether the work would be accepted; resolves within half a second. */
  expect(asker: Requester): Promise<Reservation | Refusal> {
    const verdict = this.#judge(asker);
    if (verdict === 'later') return new Promise((resolve) => this.#holdBack(asker, resolve));
    return Promise.resolve(verdict === 'now' ? this.#expect(asker) : verdict);
  }

  /** Takes places for work that was accepted before, whatever the bounds: what has arrived is not refused half-way. */
  hold({ tenant, weight }: Requester, places = 1): Release {
    const lane = this.#lane(tenant, weight);
    const extra = places - 1;
    this.#count(lane, { held: 1, extra });
    return () => {
      this.#count(lane, { held: -1, extra: -extra });
      this.#changed(lane);
    };
  }

  #holdBack(asker: Requester, resolve: (answer: Reservation | Refusal) => void): void {
    // Where something has to wait, its tenant has or expects places already.
    const lane = this.#lane(asker.tenant, asker.weight);
    const timer = setTimeout(() => {
      const late = this.#judge(asker);
      // What it was held back for has not come: that is slow, and no reason to wait.
      waiting.decide(late === 'later' ? 'now' : late)();
    }, soonMs);
    this.#heldBackBefore += 1;
    const waiting: PendingReservation = {
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

  #judge({ tenant, weight, most }: Requester): 'now' | 'later' | Refusal {
    const known = this.#lanes.get(tenant);
    const lane = known ?? noSlots;
    if (most !== null && lane.held >= most) return 'tenant_busy';
    const held = heldSlots(lane);
    const weights = known ? this.#weights : this.#weights + weight;
    const share = this.#isFull() ? (this.#capacity * weight) / weights : this.#capacity;
    if (this.size >= this.#capacity && held >= share) {
      return this.#lanes.size > 1 && held > share ? 'tenant_busy' : 'busy';
    }
    if (most !== null && tasksOf(lane) >= most) return 'later';
    return this.#isFull() && slotsOf(lane) >= share ? 'later' : 'now';
  }

  #isFull(): boolean {
    return this.size + this.#expected >= this.#capacity;
  }

  #expect(asker: Requester): Reservation {
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

  #lane(tenant: string, weight: number): TenantSlots<PendingReservation> {
    let lane = this.#lanes.get(tenant);
    if (!lane) {
      lane = { tenant, weight: 0, held: 0, extra: 0, expected: 0, waiting: new Fifo(), filed: false };
      this.#lanes.set(tenant, lane);
    }
    this.#weights += weight - lane.weight;
    lane.weight = weight;
    return lane;
  }

  #count(lane: TenantSlots<PendingReservation>, { held = 0, extra = 0, expected = 0 }: CountChange): void {
    lane.held += held;
    this.#held += held;
    lane.extra += extra;
    this.#extra += extra;
    lane.expected += expected;
    this.#expected += expected;
    this.#heldBack.changed(lane);
  }

  /** Looks again at who is held back, and tells those who can be decided in the order in which they came. */
  #changed(lane: TenantSlots<PendingReservation>): void {
    this.#forgetIfEmpty(lane);
    const decided: { order: number; tell: () => void }[] = [];
    for (let next = this.#decidable(); next; next = this.#decidable()) {
      decided.push({ order: next.waiting.order, tell: next.waiting.decide(next.verdict) });
    }
    decided.sort((a, b) => a.order - b.order);
    for (const { tell } of decided) tell();
    this.#forgetIfEmpty(lane);
  }

  #decidable(): { waiting: PendingReservation; verdict: 'now' | Refusal } | undefined {
    for (const waiting of this.#heldBack.candidates(this.#isFull())) {
      const verdict = waiting ? this.#judge(waiting.asker) : 'later';
      if (waiting && verdict !== 'later') return { waiting, verdict };
    }
    return undefined;
  }

  #forgetIfEmpty(lane: TenantSlots<PendingReservation>): void {
    if (tasksOf(lane) > 0 || lane.waiting.size > 0 || !this.#lanes.delete(lane.tenant)) return;
    this.#weights -= lane.weight;
  }
}
