interface Lane<T> {
  waiting: T[];
  running: number;
  clock: number;
  weight: number;
}

/** What `FairQueue` does, in the plainest way: every call looks at all lanes. */
export class PlainFairQueue<T> {
  readonly #lanes = new Map<string, Lane<T>>();
  #now = 0;
  #size = 0;

  get size(): number {
    return this.#size;
  }

  push(tenant: string, item: T, weight = 1): void {
    const lane = this.#lane(tenant);
    lane.weight = weight;
    if (lane.waiting.length === 0 && lane.running === 0) lane.clock = Math.max(lane.clock, this.#now);
    lane.waiting.push(item);
    this.#size += 1;
  }

  shift(estimate: number, mayStart: (tenant: string) => boolean): { tenant: string; item: T } | undefined {
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

  settle(tenant: string, estimate: number, spent: number): void {
    const lane = this.#lanes.get(tenant);
    if (!lane) return;
    lane.running -= 1;
    lane.clock += (spent - estimate) / lane.weight;
    this.#forget(tenant, lane);
  }

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
