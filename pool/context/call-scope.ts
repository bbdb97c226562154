import type { Thrown } from '../thrown.js';
import { type CallFetch, createCallFetch } from './call-fetch.js';
import { type CallLog, createCallLog } from './call-log.js';
import type { CallIds, LogParts } from './log-parts.js';
import type { Ending, Fetched, FetchRequest } from './messages.js';
import type { Redactor } from './secrets.js';

/**
 * One call while it lasts: what its handler may use beside the input. Nothing of it is made before it is asked for, because
 * most calls ask for nothing.
 */
export abstract class CallScope {
  readonly ids: CallIds;
  readonly #parts: LogParts;
  readonly #redactor: Redactor | undefined;
  #controller: AbortController | undefined;
  #log: CallLog | undefined;
  #fetch: CallFetch | undefined;
  #reason: DOMException | undefined;
  #over = false;

  constructor(ids: CallIds, parts: LogParts, redactor?: Redactor) {
    this.ids = ids;
    this.#parts = parts;
    this.#redactor = redactor;
  }

  /** Has the gateway fetch; rejects with an error made by `fetchError`, or with the reason for which the call is given up. */
  protected abstract ask(request: FetchRequest): Promise<Fetched>;

  /** Called when the handler first wants to know the call's end: from then on `abort` is to be called when it comes. */
  protected watch(): void {}

  /** Aborted when the client has gone or the deadline has come. */
  get signal(): AbortSignal {
    if (!this.#controller) {
      this.#controller = new AbortController();
      if (this.#reason) this.#controller.abort(this.#reason);
      else this.watch();
    }
    return this.#controller.signal;
  }

  get log(): CallLog {
    this.#log ??= createCallLog(this.ids, this.#parts, this.#redactor);
    return this.#log;
  }

  get fetch(): CallFetch {
    this.#fetch ??= createCallFetch({ ask: (request) => this.ask(request), ended: () => this.#over });
    return this.#fetch;
  }

  /** Why the call was given up, where it was. */
  get reason(): DOMException | undefined {
    return this.#reason;
  }

  /** What was thrown, without what is secret. */
  redacted(thrown: Thrown): Thrown {
    return this.#redactor ? this.#redactor.thrown(thrown) : thrown;
  }

  /** The call is given up: its handler is told, and may end by itself. */
  abort(why: Ending): void {
    if (this.#reason || this.#over) return;
    this.#reason =
      why === 'gone'
        ? new DOMException('The client has gone; nobody waits for the answer.', 'AbortError')
        : new DOMException('The call is past its deadline.', 'TimeoutError');
    this.#controller?.abort(this.#reason);
  }

  /** The call has been answered: nothing is fetched for it any more. */
  end(): void {
    this.#over = true;
  }
}
