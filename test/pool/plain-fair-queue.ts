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

  shift(
    estimate: number,
    mayStart: (tenant: string) => boolean,
    named?: string,
  ): { tenant: string; item: T } | undefined {
    const inOrder = [...this.#lanes]
      .filter(([tenant, lane]) => lane.waiting.length > 0 && mayStart(tenant))
      .sort(([, a], [, b]) => a.clock - b.clock);
    const next = inOrder.find(([tenant]) => named === undefined || tenant === named);
    if (!next) return undefined;
    const [tenant, lane] = next;
    this.#now = Math.max(this.#now, inOrder[0]?.[1].clock ?? 0);
    const item = lane.waiting.shift() as T;
    this.#size -= 1;
    lane.running += 1;
    lane.clock += estimate / lane.weight;
    for (const [name, each] of [...this.#lanes]) this.#forget(name, each);
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
  }
}
