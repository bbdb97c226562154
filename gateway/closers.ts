/**
 * What has been opened, closed in the reverse order, each once, also when one of them fails to close. Own code because Node's
 * `AsyncDisposableStack` came with Node 24.
 */
export class Closers {
  readonly #stack: (() => unknown)[] = [];
  #closed = false;

  /**
   * Adds what has been opened. What opens only after everything was closed, because another part failed meanwhile, is
   * closed at once: a database left open keeps a start that failed from ending.
   */
  add(close: () => unknown): void {
    if (!this.#closed) this.#stack.push(close);
    // Why the start failed is told already; that this failed to close adds nothing.
    else
      Promise.resolve()
        .then(close)
        .catch(() => undefined);
  }

  /** The same for a part that closes itself; gives it back. */
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

/** Opens what leaves its closing to `closers`; where it cannot be opened whole, all that was is closed again. */
export async function openTogether<T>(open: (closers: Closers) => Promise<T>): Promise<T> {
  const closers = new Closers();
  try {
    return await open(closers);
  } catch (error) {
    await closers.close();
    throw error;
  }
}
