/** What has been opened, closed in the reverse order, each once, also when one of them fails to close. */
export class Closers {
  readonly #stack: (() => unknown)[] = [];

  add(close: () => unknown): void {
    this.#stack.push(close);
  }

  /** Closes everything; throws the first failure after all have been tried. */
  async close(): Promise<void> {
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
