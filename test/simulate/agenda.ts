interface Entry {
  at: number;
  order: number;
  run: () => void;
}

/** What is to happen at which moment of the simulated time, in seconds; a binary heap, as millions of them pass. */
export class Agenda {
  readonly #heap: Entry[] = [];
  #made = 0;
  now = 0;

  in(seconds: number, run: () => void): void {
    this.#made += 1;
    const entry = { at: this.now + seconds, order: this.#made, run };
    let at = this.#heap.push(entry) - 1;
    while (at > 0) {
      const above = (at - 1) >> 1;
      const other = this.#heap[above] as Entry;
      if (!isBefore(entry, other)) break;
      this.#heap[at] = other;
      at = above;
    }
    this.#heap[at] = entry;
  }

  /** Lets happen what is to happen until then. */
  runUntil(end: number): void {
    for (let next = this.#heap[0]; next && next.at <= end; next = this.#heap[0]) {
      this.#dropFirst();
      this.now = next.at;
      next.run();
    }
    this.now = end;
  }

  #dropFirst(): void {
    const heap = this.#heap;
    const last = heap.pop() as Entry;
    if (heap.length === 0) return;
    let at = 0;
    for (;;) {
      let below = 2 * at + 1;
      if (below >= heap.length) break;
      if (below + 1 < heap.length && isBefore(heap[below + 1] as Entry, heap[below] as Entry)) below += 1;
      if (isBefore(last, heap[below] as Entry)) break;
      heap[at] = heap[below] as Entry;
      at = below;
    }
    heap[at] = last;
  }
}

function isBefore(a: Entry, b: Entry): boolean {
  return a.at < b.at || (a.at === b.at && a.order < b.order);
}
