/** Closes opened parts in reverse order, each once, whatever fails (`AsyncDisposableStack` came with Node 24). */
export class Closers {
  readonly #stack: (() => unknown)[] = [];
  #closed = false;

  /** Adds the closing of a part; one that opens too late is closed at once, or a failed start would not end. */
  add(close: () => unknown): void {
    if (!this.#closed) this.#stack.push(close);
    // The start's own failure has been reported; this one adds nothing.
    else
      Promise.resolve()
        .then(close)
        .catch(() => undefined);
  }

  /** The same for a part that closes itself; returns it. */
  own<T extends { close(): unknown }>(part: T): T {
    this.add(() => part.close());
    return part;
  }

  /** Closes everything; throws the first failure after all have been tried. */
  async close(): Promise<void> {
    this.#closed = true;
    const failures: unknown[] = [];
    for (let close = this.#stack.pop(); close; close = this.#stack.pop()) {
      try {
        await close();
      } catch (error) {
        failures.push(error);
      }
    }
    if (failures.length > 0) throw failures[0];
  }
}

/** Opens parts that leave their closing to `closers`; where one fails, all are closed again. */
export async function openTogether<T>(open: (closers: Closers) => Promise<T>): Promise<T> {
  const closers = new Closers();
  try {
    return await open(closers);
  } catch (error) {
    await closers.close();
    throw error;
  }
}
