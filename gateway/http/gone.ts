/**
 * Whether a request's client has gone away, for whoever wants to know. Most calls end without anybody having asked: an
 * AbortSignal, which costs as much as to check a key, is made for those who need one.
 */
export class Gone {
  #gone = false;
  #listener: (() => void) | undefined;
  #controller: AbortController | undefined;

  /** Aborted when the client goes away. */
  get signal(): AbortSignal {
    this.#controller ??= new AbortController();
    if (this.#gone) this.#controller.abort();
    return this.#controller.signal;
  }

  /** Calls the one who listens when the client goes away, at once where it has. */
  listen(listener: () => void): void {
    this.#listener = listener;
    if (this.#gone) listener();
  }

  /** Says that it has. */
  tell(): void {
    this.#gone = true;
    this.#listener?.();
    this.#controller?.abort();
  }
}
