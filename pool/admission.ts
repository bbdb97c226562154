import { Fifo, Heap } from './fair-queue.js';

/** Whose work it is. */
export interface Requester {
  tenant: string;
  /** The tenant's share relative to the others', a whole number above 0. */
  weight: number;
  /** Tasks that the tenant may have at a time, or null for no limit of its own. */
  most: number | null;
  /** Background work, whose tasks yield to every call. */
  background?: boolean;
}

/** Why work is not accepted: `busy`, everyone's load; `tenant_busy`, this tenant's own. */
export type Refusal = 'busy' | 'tenant_busy';

/** A right to slots for work whose input is still on its way. */
export interface Reservation {
  /** The input is complete: acquires its slots, whatever the load is now. */
  arrive(slots?: number): Release;
  /** The input will not come. */
  cancel(): void;
}

/** Frees slots; to be called once. */
export type Release = () => void;

/** A call that waits for its reservation or its refusal. */
interface Deferred {
  readonly requester: Requester;
  /** A later call has a higher one. */
  readonly order: number;
  /** Counts what the decision changes; the result answers the call. */
  readonly decide: (decision: 'now' | Refusal) => () => void;
}

/** What is counted of one tenant that has, expects or waits for a slot. */
interface Tenant {
  readonly name: string;
  weight: number;
  /** Tasks that have a slot. */
  held: number;
  /** Slots of heavy tasks beyond one each. */
  extra: number;
  /** Reservations: what they will need is unknown, so each counts for one slot. */
  expected: number;
  readonly deferred: Fifo<Deferred>;
}

type Counts = Pick<Tenant, 'held' | 'extra' | 'expected'>;

const noCounts: Counts = { held: 0, extra: 0, expected: 0 };

/** How long a reservation counts against others, and how long a newcomer waits for one to end. */
const reservationMs = 500;

/**
 * Bounds how much work is accepted, fairly. While there are free slots any tenant may have one. When there are none, a tenant still
 * gets up to its share of all slots (by weight, among the tenants that have any), so a flood from one fills only slots that others do
 * not want. What has a slot keeps it: input that has arrived whole is never thrown away. A heavy task counts for several slots; it
 * is accepted where one is free, and then displaces what comes after.
 *
 * Input on its way (a body, a download) holds no slot, for it may never come. Its reservation counts for half a second. Newcomers
 * beyond what slots and reservations fill are deferred that long, before anything is fetched for them: so a burst of downloads is
 * refused where it cannot be worked on, and a crowd of stalled ones keeps no other call out.
 */
export class Admission {
  readonly #capacity: number;
  readonly #tenants = new Map<string, Tenant>();
  readonly #deferred = new DeferredTenants();
  #deferredBefore = 0;
  readonly #total = { ...noCounts };
  /** Of all tenants. */
  #weights = 0;

  constructor(capacity: number) {
    this.#capacity = capacity;
  }

  /** Slots of complete work, waiting and running. */
  get size(): number {
    return heldSlots(this.#total);
  }

  /** Tasks that have them. */
  get tasks(): number {
    return this.#total.held;
  }

  /** Acquires slots for complete work, or says why there are none. */
  acquire(requester: Requester, slots = 1): Release | Refusal {
    const decision = this.#decide(requester);
    return decision === 'now' || decision === 'later' ? this.hold(requester, slots) : decision;
  }

  /** Decides, before a body is read or a download begun, whether the work would be accepted; within half a second. */
  async reserve(requester: Requester): Promise<Reservation | Refusal> {
    const decision = this.#decide(requester);
    if (decision === 'later') return new Promise((resolve) => this.#defer(requester, resolve));
    return decision === 'now' ? this.#reserve(requester) : decision;
  }

  /** Acquires slots for work that was accepted before, whatever the bounds. */
  hold(requester: Requester, slots = 1): Release {
    const tenant = this.#tenant(requester);
    const extra = slots - 1;
    this.#count(tenant, { held: 1, extra });
    return () => {
      this.#count(tenant, { held: -1, extra: -extra });
      this.#decideDeferred(tenant);
    };
  }

  #defer(requester: Requester, resolve: (answer: Reservation | Refusal) => void): void {
    const tenant = this.#tenant(requester);
    this.#deferredBefore += 1;
    const timer = setTimeout(() => {
      const late = this.#decide(requester);
      // What it was deferred for has not come: that is slow, and no reason to wait.
      deferred.decide(late === 'later' ? 'now' : late)();
    }, reservationMs);
    const deferred: Deferred = {
      requester,
      order: this.#deferredBefore,
      decide: (decision) => {
        clearTimeout(timer);
        tenant.deferred.delete(deferred);
        this.#deferred.update(tenant);
        const answer = decision === 'now' ? this.#reserve(requester) : decision;
        return () => resolve(answer);
      },
    };
    tenant.deferred.add(deferred);
    this.#deferred.update(tenant);
  }

  #decide({ tenant: name, weight, most }: Requester): 'now' | 'later' | Refusal {
    const known = this.#tenants.get(name);
    const counts = known ?? noCounts;
    if (most !== null && counts.held >= most) return 'tenant_busy';
    const held = heldSlots(counts);
    const weights = known ? this.#weights : this.#weights + weight;
    const share = this.#isFull() ? (this.#capacity * weight) / weights : this.#capacity;
    if (this.size >= this.#capacity && held >= share) {
      return this.#tenants.size > 1 && held > share ? 'tenant_busy' : 'busy';
    }
    if (most !== null && tasksOf(counts) >= most) return 'later';
    return this.#isFull() && slotsOf(counts) >= share ? 'later' : 'now';
  }

  #isFull(): boolean {
    return slotsOf(this.#total) >= this.#capacity;
  }

  #reserve(requester: Requester): Reservation {
    const tenant = this.#tenant(requester);
    this.#count(tenant, { expected: 1 });
    let counts = true;
    const forget = () => {
      if (counts) this.#count(tenant, { expected: -1 });
      counts = false;
      clearTimeout(timer);
    };
    const cancel = () => {
      if (!counts) return;
      forget();
      this.#decideDeferred(tenant);
    };
    const timer = setTimeout(cancel, reservationMs);
    return {
      arrive: (slots) => {
        forget();
        return this.hold(requester, slots);
      },
      cancel,
    };
  }

  #tenant({ tenant: name, weight }: Requester): Tenant {
    let tenant = this.#tenants.get(name);
    if (!tenant) {
      tenant = { name, weight: 0, ...noCounts, deferred: new Fifo() };
      this.#tenants.set(name, tenant);
    }
    this.#weights += weight - tenant.weight;
    tenant.weight = weight;
    return tenant;
  }

  #count(tenant: Tenant, { held = 0, extra = 0, expected = 0 }: Partial<Counts>): void {
    for (const counts of [tenant, this.#total]) {
      counts.held += held;
      counts.extra += extra;
      counts.expected += expected;
    }
    this.#deferred.update(tenant);
  }

  /** Decides those of the deferred calls that no longer have to wait, and answers them in the order in which they came. */
  #decideDeferred(tenant: Tenant): void {
    this.#forgetIfIdle(tenant);
    const decided: { order: number; answer: () => void }[] = [];
    for (let next = this.#decideNext(); next; next = this.#decideNext()) decided.push(next);
    decided.sort((a, b) => a.order - b.order);
    for (const { answer } of decided) answer();
    this.#forgetIfIdle(tenant);
  }

  /** The next of the deferred calls that no longer has to wait, decided. */
  #decideNext(): { order: number; answer: () => void } | undefined {
    for (const { requester, order, decide } of this.#deferred.candidates(this.#isFull())) {
      const decision = this.#decide(requester);
      if (decision !== 'later') return { order, answer: decide(decision) };
    }
    return undefined;
  }

  #forgetIfIdle(tenant: Tenant): void {
    if (tasksOf(tenant) > 0 || tenant.deferred.size > 0 || !this.#tenants.delete(tenant.name)) return;
    this.#weights -= tenant.weight;
  }
}

/**
 * Tenants with deferred calls, and those of these calls that may be decided next. Calls of a tenant are alike, so only its oldest is
 * looked at, and of all tenants only those that come first by what decides.
 */
class DeferredTenants {
  /** Tenants that may have another slot, as far as their own limit goes. */
  readonly #oldest = new Heap<Tenant>(isOlder);
  readonly #leastLoaded = new Heap<Tenant>(
    (a, b) => slotsOf(a) * oldestOf(b).requester.weight < slotsOf(b) * oldestOf(a).requester.weight,
  );
  /** Tenants that have all the tasks that they may have. */
  readonly #sated = new Heap<Tenant>(isOlder);
  /** All. */
  readonly #mostHeld = new Heap<Tenant>(
    (a, b) => heldSlots(a) * oldestOf(b).requester.weight > heldSlots(b) * oldestOf(a).requester.weight,
  );

  /** To be called whenever a tenant's numbers or deferred calls have changed. */
  update(tenant: Tenant): void {
    const oldest = tenant.deferred.first();
    const most = oldest?.requester.most ?? Number.POSITIVE_INFINITY;
    const isOpen = oldest !== undefined && tasksOf(tenant) < most;
    this.#oldest.set(tenant, isOpen);
    this.#leastLoaded.set(tenant, isOpen);
    this.#sated.set(tenant, oldest !== undefined && tenant.held >= most);
    this.#mostHeld.set(tenant, oldest !== undefined);
  }

  /**
   * Calls of which one can be decided, if any can: of a tenant at its own limit, the oldest while there are free slots, of the least
   * loaded tenant while there are none, and of the tenant that would be refused before any other.
   */
  candidates(isFull: boolean): Deferred[] {
    const heaps = [this.#sated, isFull ? this.#leastLoaded : this.#oldest, this.#mostHeld];
    return heaps.flatMap((heap) => heap.first()?.deferred.first() ?? []);
  }
}

/** Tasks that a tenant has and expects. */
const tasksOf = ({ held, expected }: Counts) => held + expected;
const heldSlots = ({ held, extra }: Counts) => held + extra;
/** Slots that are held and expected. */
const slotsOf = ({ held, extra, expected }: Counts) => held + extra + expected;
const oldestOf = ({ deferred }: Tenant) => deferred.first() as Deferred;
const isOlder = (a: Tenant, b: Tenant) => oldestOf(a).order < oldestOf(b).order;
