/**
 * Whether what is under way has ended before its time, for whoever wants to know: a call whose client went away, a body that came
 * too slowly. Most end well without anybody having asked; an AbortSignal, which costs as much as to check a key, is made for
 * those who need one.
 */
export class Ending {
  #ended = false;
  #reason: unknown;
  #listener: ((reason: unknown) => void) | undefined;
  #controller: AbortController | undefined;

  get ended(): boolean {
    return this.#ended;
  }

  /** Aborted at the end, with its reason. */
  get signal(): AbortSignal {
    this.#controller ??= new AbortController();
    if (this.#ended) this.#controller.abort(this.#reason);
    return this.#controller.signal;
  }

  /** Calls the one who listens at the end, and at once where it has come. */
  listen(listener: (reason: unknown) => void): void {
    this.#listener = listener;
    if (this.#ended) listener(this.#reason);
  }

  /** Nobody listens any more. */
  unlisten(): void {
    this.#listener = undefined;
  }

  end(reason?: unknown): void {
    this.#ended = true;
    this.#reason = reason;
    this.#listener?.(reason);
    this.#controller?.abort(reason);
  }
}
