import { CallScope } from '../../pool/context/call-scope.js';
import { fetchAfterEnd, fetchError } from '../../pool/context/fetch-error.js';
import type { HelperParts } from '../../pool/context/handler-context.js';
import type { CallIds, LogParts } from '../../pool/context/log-parts.js';
import type { Fetched, FetchRequest } from '../../pool/context/messages.js';
import { codeOf } from '../../pool/context/task-host.js';
import type { Ending } from '../http/ending.js';
import type { FetchForCall, FetchingCall } from './call-fetch.js';

/** What the main thread's calls share. */
export interface MainScopeParts {
  log: LogParts;
  fetch: FetchForCall;
}

/** A call that this thread watches. */
export interface WatchedCall extends FetchingCall {
  readonly state: FetchingCall['state'] & { readonly gone: Ending };
}

/** A call whose handler runs on the main thread. */
export class MainScope extends CallScope {
  readonly #call: WatchedCall;
  readonly #fetchForCall: FetchForCall;
  /** Of what is fetched now. */
  #fetches: AbortController | undefined;

  constructor(call: WatchedCall, ids: CallIds, { log, fetch }: MainScopeParts, { redactor }: HelperParts) {
    super(ids, log, redactor);
    this.#call = call;
    this.#fetchForCall = fetch;
  }

  protected override watch(): void {
    const { signal } = this.#call.state.gone;
    if (signal.aborted) this.abort('gone');
    else signal.addEventListener('abort', () => this.abort('gone'), { once: true });
  }

  protected override async ask(request: FetchRequest): Promise<Fetched> {
    this.#fetches ??= this.#abortWithCall();
    const { signal } = this.#fetches;
    try {
      return await this.#fetchForCall(this.#call, request, signal);
    } catch (error) {
      throw signal.aborted ? signal.reason : fetchError(codeOf(error));
    }
  }

  #abortWithCall(): AbortController {
    const fetches = new AbortController();
    const { signal } = this;
    if (signal.aborted) fetches.abort(signal.reason);
    signal.addEventListener('abort', () => fetches.abort(signal.reason), { once: true });
    return fetches;
  }

  override end(): void {
    super.end();
    this.#fetches?.abort(fetchAfterEnd());
  }
}
