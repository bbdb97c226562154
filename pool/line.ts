/** Items in the order in which they came; each may leave from anywhere. Every call takes constant time. An item is in it once. */
export class Line<T> {
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
