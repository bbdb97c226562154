/**
 * Items by a rank that may change while they are in it: a binary heap that knows where each item stands (Sedgewick & Wayne,
 * Algorithms, 2.4: "index priority queue"). Every change takes a number of comparisons that grows with the logarithm of the size;
 * the heaps on npm find an item whose rank has changed by looking at all.
 */
export class Heap<T> {
  readonly #items: T[] = [];
  readonly #positions = new Map<T, number>();
  readonly #before: (a: T, b: T) => boolean;

  /** `before` says whether `a` comes out before `b`. */
  constructor(before: (a: T, b: T) => boolean) {
    this.#before = before;
  }

  /** The item that comes before all others; undefined where there is none. */
  first(): T | undefined {
    return this.#items[0];
  }

  /** Puts an item in, or to where its changed rank belongs. */
  place(item: T): void {
    const at = this.#positions.get(item) ?? this.#items.push(item) - 1;
    if (this.#rise(item, at) === at) this.#sink(item, at);
  }

  /** Puts an item in, or to where it belongs by now, or takes it out. */
  set(item: T, isIn: boolean): void {
    if (isIn) this.place(item);
    else this.delete(item);
  }

  /** Takes an item out; nothing happens where it is not in. */
  delete(item: T): void {
    const at = this.#positions.get(item);
    if (at === undefined) return;
    this.#positions.delete(item);
    const last = this.#items.pop() as T;
    if (last === item) return;
    this.#items[at] = last;
    this.#positions.set(last, at);
    this.place(last);
  }

  /** Moves an item up as far as it comes before what stands there; returns its position. */
  #rise(item: T, from: number): number {
    let at = from;
    while (at > 0) {
      const above = (at - 1) >> 1;
      const other = this.#items[above] as T;
      if (!this.#before(item, other)) break;
      this.#put(other, at);
      at = above;
    }
    this.#put(item, at);
    return at;
  }

  #sink(item: T, from: number): void {
    let at = from;
    for (;;) {
      const below = this.#firstBelow(at);
      const other = this.#items[below];
      if (other === undefined || !this.#before(other, item)) break;
      this.#put(other, at);
      at = below;
    }
    this.#put(item, at);
  }

  #firstBelow(at: number): number {
    const left = 2 * at + 1;
    const [a, b] = [this.#items[left], this.#items[left + 1]];
    return a !== undefined && b !== undefined && this.#before(b, a) ? left + 1 : left;
  }

  #put(item: T, at: number): void {
    this.#items[at] = item;
    this.#positions.set(item, at);
  }
}

/** Items in the order in which they came; each may leave from anywhere. Every call takes constant time. An item is in it once. */
export class Fifo<T> {
  readonly #items = new Set<T>();
  /** Goes along the set for good: one that began anew would step over the slots of all that have left. */
  readonly #next = this.#items.values();
  #first: T | undefined;

  get size(): number {
    return this.#items.size;
  }

  add(item: T): void {
    this.#items.add(item);
  }

  /** The oldest item; undefined where there is none. */
  first(): T | undefined {
    // Of an empty set the iterator would end, and see nothing that comes later.
    if (this.#first === undefined && this.#items.size > 0) this.#first = this.#next.next().value;
    return this.#first;
  }

  [Symbol.iterator](): Iterator<T> {
    return this.#items.values();
  }

  /** Takes an item out; false where it is not in. */
  delete(item: T): boolean {
    if (item === this.#first) this.#first = undefined;
    return this.#items.delete(item);
  }
}

/** What keeps a tenant's items waiting though a thread is free: something of its own, or of all together. */
export type StopReason = 'own' | 'all';

/** What the queue knows of one tenant. `clock` is its virtual time: milliseconds of work received, divided by its weight. */
interface Lane<T> {
  readonly tenant: string;
  /** Its number: of two with the same clock the older one is first. */
  readonly order: number;
  readonly waiting: Fifo<T>;
  running: number;
  clock: number;
  weight: number;
  /** Why it might not start an item when it was asked about last. */
  stop: StopReason | undefined;
}

/**
 * Hands waiting items out so that tenants share the threads by the time their work takes, not by how much they ask.
 *
 * Start-time fair queueing (Goyal, Vin & Cheng, 1996) over tenants: the next item is the oldest one of the tenant
 * with the smallest virtual time. A tenant is charged an estimate when its item starts and the difference to the
 * measured time when it ends. One that comes back after idling starts at the current virtual time: time it did not
 * use is not saved up, so it can neither be starved nor starve the others.
 */
export class FairQueue<T> {
  readonly #stopOf: (tenant: string) => StopReason | undefined;
  readonly #lanes = new Map<string, Lane<T>>();
  /** Lanes with waiting items, but for those that were found stopped. */
  readonly #ready = new Heap<Lane<T>>(isBefore);
  /** Lanes with waiting items that were stopped by what is everybody's: while it goes on, to ask about one is enough. */
  readonly #held = new Heap<Lane<T>>(isBefore);
  /** Lanes with neither waiting nor running items that are kept until virtual time has reached the time they owe. */
  readonly #owing = new Heap<Lane<T>>(isBefore);
  #made = 0;
  #now = 0;
  #size = 0;
  #tenants = 0;

  /**
   * `stopOf` says why items of a tenant may not be handed out now. Those stopped for `all` are free again together, which the queue
   * finds by itself; of one that is free before, or was stopped for its own, call `look`.
   */
  constructor(stopOf: (tenant: string) => StopReason | undefined = () => undefined) {
    this.#stopOf = stopOf;
  }

  /** Items waiting. */
  get size(): number {
    return this.#size;
  }

  /** Tenants with waiting items. */
  get tenants(): number {
    return this.#tenants;
  }

  /** Tenants that are remembered, for what they wait for, run, or have had beyond their share. */
  get known(): number {
    return this.#lanes.size;
  }

  /** Whether an item of this tenant waits. */
  waits(tenant: string): boolean {
    return (this.#lanes.get(tenant)?.waiting.size ?? 0) > 0;
  }

  /** Adds an item at the end of the tenant's queue. `weight` (above 0) is the tenant's share relative to the others. */
  push(tenant: string, item: T, weight = 1): void {
    const lane = this.#lane(tenant);
    lane.weight = weight;
    if (isIdle(lane)) lane.clock = Math.max(lane.clock, this.#now);
    this.#owing.delete(lane);
    if (lane.waiting.size === 0) this.#tenants += 1;
    lane.waiting.add(item);
    this.#size += 1;
    this.#file(lane);
  }

  /**
   * Removes and returns the next item of a tenant that may start one, and charges the tenant the milliseconds that `estimateOf` gives;
   * undefined where nothing may. Of a tenant that is named it is the oldest item, before its time.
   */
  shift(estimateOf: (item: T) => number, tenant?: string): { tenant: string; item: T } | undefined {
    const next = this.#next();
    const lane = tenant === undefined ? next : this.#named(tenant);
    const item = lane?.waiting.first();
    if (!next || !lane || item === undefined) return undefined;
    // One that comes before its time may be further on than the next one.
    this.#advance(next.clock);
    lane.running += 1;
    lane.clock += estimateOf(item) / lane.weight;
    this.#remove(lane, item);
    return { tenant: lane.tenant, item };
  }

  /** Charges a tenant for an item that was removed by `shift`, could not start then, was settled with 0, and starts now. */
  restart(tenant: string, estimate: number, weight: number): void {
    const lane = this.#lane(tenant);
    if (isIdle(lane)) {
      this.#owing.delete(lane);
      lane.clock = Math.max(lane.clock, this.#now);
      lane.weight = weight;
    }
    lane.running += 1;
    lane.clock += estimate / lane.weight;
    this.#file(lane);
  }

  /** Says that an item of this tenant ended after `spent` milliseconds, where `estimate` had been charged. */
  settle(tenant: string, estimate: number, spent: number): void {
    const lane = this.#lanes.get(tenant);
    if (!lane) return;
    lane.running -= 1;
    lane.clock += (spent - estimate) / lane.weight;
    this.#file(lane);
    this.#forget(lane);
  }

  /** Takes a waiting item out; false where it is not waiting. */
  remove(tenant: string, item: T): boolean {
    const lane = this.#lanes.get(tenant);
    if (!lane || !this.#remove(lane, item)) return false;
    this.#forget(lane);
    return true;
  }

  /** Every item that waits. */
  items(): T[] {
    return [...this.#lanes.values()].flatMap(({ waiting }) => [...waiting]);
  }

  /** What a tenant has received, in milliseconds by its weight. */
  clockOf(tenant: string): number {
    return this.#lanes.get(tenant)?.clock ?? this.#now;
  }

  /** Whether no tenant that waits, and may start an item, has received less than this one. */
  isNext(tenant: string): boolean {
    const lane = this.#next();
    return !lane || this.clockOf(tenant) <= lane.clock;
  }

  /** Says that a tenant that might not start may do so now. */
  look(tenant: string): void {
    const lane = this.#lanes.get(tenant);
    if (!lane?.stop) return;
    lane.stop = undefined;
    this.#file(lane);
  }

  #named(tenant: string): Lane<T> | undefined {
    const lane = this.#lanes.get(tenant);
    return lane && lane.waiting.size > 0 && !this.#stopOf(tenant) ? lane : undefined;
  }

  /** Moves virtual time on; what a tenant owed that it has reached need not be remembered. */
  #advance(clock: number): void {
    this.#now = Math.max(this.#now, clock);
    for (let lane = this.#owing.first(); lane && lane.clock <= this.#now; lane = this.#owing.first()) {
      this.#owing.delete(lane);
      this.#lanes.delete(lane.tenant);
    }
  }

  #next(): Lane<T> | undefined {
    let allStopped = false;
    for (;;) {
      const lane = this.#first(allStopped);
      if (!lane) return undefined;
      const stop = this.#stopOf(lane.tenant);
      if (stop !== lane.stop) {
        lane.stop = stop;
        this.#file(lane);
      }
      if (!stop) return lane;
      allStopped ||= stop === 'all';
    }
  }

  /** The lane that has received least. */
  #first(allStopped: boolean): Lane<T> | undefined {
    const ready = this.#ready.first();
    const held = allStopped ? undefined : this.#held.first();
    return ready && held ? (isBefore(held, ready) ? held : ready) : (ready ?? held);
  }

  /** Puts a lane to where it belongs. */
  #file(lane: Lane<T>): void {
    if (lane.waiting.size === 0) lane.stop = undefined;
    this.#ready.set(lane, lane.waiting.size > 0 && !lane.stop);
    this.#held.set(lane, lane.stop === 'all');
  }

  #remove(lane: Lane<T>, item: T): boolean {
    if (!lane.waiting.delete(item)) return false;
    this.#size -= 1;
    if (lane.waiting.size === 0) this.#tenants -= 1;
    this.#file(lane);
    return true;
  }

  #lane(tenant: string): Lane<T> {
    let lane = this.#lanes.get(tenant);
    if (!lane) {
      this.#made += 1;
      const empty = { waiting: new Fifo<T>(), running: 0, clock: this.#now, weight: 1, stop: undefined };
      lane = { tenant, order: this.#made, ...empty };
      this.#lanes.set(tenant, lane);
    }
    return lane;
  }

  /** An idle tenant at or behind the current virtual time has no debt to remember: its lane must not pile up. */
  #forget(lane: Lane<T>): void {
    if (!isIdle(lane)) return;
    if (lane.clock <= this.#now) this.#lanes.delete(lane.tenant);
    else this.#owing.place(lane);
  }
}

function isIdle({ waiting, running }: Lane<unknown>): boolean {
  return waiting.size === 0 && running === 0;
}

function isBefore(a: Lane<unknown>, b: Lane<unknown>): boolean {
  return a.clock < b.clock || (a.clock === b.clock && a.order < b.order);
}
