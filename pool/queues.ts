/**
 * Items by a rank that may change while they are in it: a binary heap that knows where each item stands (Sedgewick & Wayne,
 * Algorithms, 2.4: "index priority queue"). Every change takes a number of comparisons that grows with the logarithm of the size;
 * the heaps on npm find an item whose rank has changed by looking at all.
 */
export class Heap<T> {
  readonly #items: T[] = [];
  readonly #places = new Map<T, number>();
  readonly #before: (a: T, b: T) => boolean;

  /** `before` says whether `a` comes out before `b`. */
  constructor(before: (a: T, b: T) => boolean) {
    this.#before = before;
  }

  get size(): number {
    return this.#items.length;
  }

  /** The item that comes before all others; undefined where there is none. */
  first(): T | undefined {
    return this.#items[0];
  }

  /** Puts an item in, or to where its changed rank belongs. */
  place(item: T): void {
    const at = this.#places.get(item) ?? this.#items.push(item) - 1;
    if (this.#rise(item, at) === at) this.#sink(item, at);
  }

  /** Takes an item out; nothing happens where it is not in. */
  delete(item: T): void {
    const at = this.#places.get(item);
    if (at === undefined) return;
    this.#places.delete(item);
    const last = this.#items.pop() as T;
    if (last === item) return;
    this.#items[at] = last;
    this.#places.set(last, at);
    this.place(last);
  }

  /** Moves an item up as far as it comes before what stands there; gives its place. */
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
    this.#places.set(item, at);
  }
}

/** Items in the order in which they came; each may leave from anywhere. Every call takes constant time. An item is in it once. */
export class Fifo<T> {
  readonly #items = new Set<T>();
  /** Goes along the set for good: one that began anew would step over the places of all that have left. */
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

  /** The oldest first. */
  all(): T[] {
    return [...this.#items];
  }

  /** Takes an item out; false where it is not in the line. */
  delete(item: T): boolean {
    if (item === this.#first) this.#first = undefined;
    return this.#items.delete(item);
  }
}
