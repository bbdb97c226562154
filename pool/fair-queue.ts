/** What the queue knows of one tenant. `clock` is its virtual time: milliseconds of work received, divided by its weight. */
interface Lane<T> {
  waiting: T[];
  running: number;
  clock: number;
  weight: number;
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
  readonly #lanes = new Map<string, Lane<T>>();
  #now = 0;
  #size = 0;

  /** Items waiting. */
  get size(): number {
    return this.#size;
  }

  /** Adds an item at the end of the tenant's line. `weight` (above 0) is the tenant's share relative to the others. */
  push(tenant: string, item: T, weight = 1): void {
    const lane = this.#lane(tenant);
    lane.weight = weight;
    if (lane.waiting.length === 0 && lane.running === 0) lane.clock = Math.max(lane.clock, this.#now);
    lane.waiting.push(item);
    this.#size += 1;
  }

  /**
   * Takes the next item of a tenant that `mayStart` and charges that tenant `estimate` milliseconds; undefined where nothing
   * waits that may.
   */
  shift(
    estimate: number,
    mayStart: (tenant: string) => boolean = () => true,
  ): { tenant: string; item: T } | undefined {
    let next: [string, Lane<T>] | undefined;
    for (const entry of this.#lanes) {
      if (entry[1].waiting.length === 0 || !mayStart(entry[0])) continue;
      if (!next || entry[1].clock < next[1].clock) next = entry;
    }
    if (!next) return undefined;
    const [tenant, lane] = next;
    const item = lane.waiting.shift() as T;
    this.#size -= 1;
    this.#now = Math.max(this.#now, lane.clock);
    lane.running += 1;
    lane.clock += estimate / lane.weight;
    return { tenant, item };
  }

  /** Says that an item of this tenant ended after `spent` milliseconds, where `estimate` had been charged. */
  settle(tenant: string, estimate: number, spent: number): void {
    const lane = this.#lanes.get(tenant);
    if (!lane) return;
    lane.running -= 1;
    lane.clock += (spent - estimate) / lane.weight;
    this.#forget(tenant, lane);
  }

  /** Takes a waiting item out; false where it is not waiting. */
  remove(tenant: string, item: T): boolean {
    const lane = this.#lanes.get(tenant);
    const at = lane ? lane.waiting.indexOf(item) : -1;
    if (!lane || at === -1) return false;
    lane.waiting.splice(at, 1);
    this.#size -= 1;
    this.#forget(tenant, lane);
    return true;
  }

  #lane(tenant: string): Lane<T> {
    let lane = this.#lanes.get(tenant);
    if (!lane) {
      lane = { waiting: [], running: 0, clock: this.#now, weight: 1 };
      this.#lanes.set(tenant, lane);
    }
    return lane;
  }

  /** An idle tenant at or behind the current virtual time has no debt to remember: its lane must not pile up. */
  #forget(tenant: string, lane: Lane<T>): void {
    if (lane.waiting.length === 0 && lane.running === 0 && lane.clock <= this.#now)
      this.#lanes.delete(tenant);
    else if (this.#lanes.size > 1000) this.#sweep();
  }

  #sweep(): void {
    for (const [tenant, lane] of this.#lanes) {
      if (lane.waiting.length === 0 && lane.running === 0) this.#lanes.delete(tenant);
    }
  }
}
