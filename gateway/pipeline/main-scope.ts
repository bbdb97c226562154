import { CallScope, type HelperParts } from '../../pool/context/handler-context.js';
import {
  type CallIds,
  type Fetched,
  type FetchRequest,
  fetchAfterEnd,
  fetchError,
  type LogSink,
  toFetchRefusal,
} from '../../pool/context/messages.js';
import type { CheckedUrl, Source } from '../download/fetch.js';
import { GatewayError } from '../errors.js';
import type { InboundBudget } from '../http/inbound-budget.js';
import type { Caller, CallState } from './stage.js';

export interface MainScopeParts {
  log: LogSink;
  fetch: FetchForCall;
}

/** The scope of a handler on the main thread. */
export class MainScope extends CallScope {
  readonly #call: FetchingCall;
  readonly #fetchForCall: FetchForCall;
  /** Made with the first fetch. */
  #fetches: AbortController | undefined;

  constructor(call: FetchingCall, ids: CallIds, { log, fetch }: MainScopeParts, { redactor }: HelperParts) {
    super(ids, log, redactor);
    this.#call = call;
    this.#fetchForCall = fetch;
  }

  protected override watch(): void {
    const { signal } = this.#call.state;
    if (signal.aborted) this.abort('gone');
    else signal.addEventListener('abort', () => this.abort('gone'), { once: true });
  }

  protected override async ask(request: FetchRequest): Promise<Fetched> {
    this.#fetches ??= this.#abortWithCall();
    const { signal } = this.#fetches;
    try {
      return await this.#fetchForCall(this.#call, request, signal);
    } catch (error) {
      throw signal.aborted ? signal.reason : fetchError(toFetchRefusal(error));
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

interface FetchingCall {
  readonly state: Pick<CallState, 'bytesIn' | 'fetched' | 'signal' | 'trace'>;
  readonly caller: Caller;
}

/** Fetches for a call's handler. Rejects with a `GatewayError`, or with the reason of `signal`. */
export type FetchForCall = (
  call: FetchingCall,
  request: FetchRequest,
  signal: AbortSignal,
) => Promise<Fetched>;

/** Fetches through the guard of callers' urls, with the tenant's connections and share of the inbound budget. */
export function createFetchForCall(source: Source, inboundBudget: InboundBudget): FetchForCall {
  return async function fetchForCall({ state, caller }, { url, accept = '*/*', maxBytes }, signal) {
    // A caught refusal shapes the answer as well.
    state.fetched = true;
    const checked = checkFetchUrl(source, url);
    const tenant = caller.tenant.id;
    const transfer = inboundBudget.enter(tenant, 'source_timeout');
    try {
      const { status, headers, body } = await source.fetch(checked, {
        tenant,
        accept,
        maxBytes,
        anyStatus: true,
        trace: state.trace,
        signal: AbortSignal.any([transfer.signal, signal]),
        onProgress: transfer.add,
      });
      state.bytesIn += body.byteLength;
      return { status, headers: joinHeaders(headers), bytes: body };
    } finally {
      transfer.release();
    }
  };
}

/** The url may be the helper's or its caller's, so its error names no field of the input. */
function checkFetchUrl(source: Source, url: string): CheckedUrl {
  try {
    return source.check(url);
  } catch (error) {
    if (!(error instanceof GatewayError) || error.code !== 'invalid_input') throw error;
    const problem = error.details?.[0]?.problem ?? 'is none';
    throw new GatewayError('source_refused', {
      message: `The helper was to fetch a url that cannot be: it ${problem}.`,
    });
  }
}

function joinHeaders(
  headers: Readonly<Record<string, string | string[] | undefined>>,
): Record<string, string> {
  const entries = Object.entries(headers).map(([name, value = '']): [string, string] => [
    name.toLowerCase(),
    Array.isArray(value) ? value.join(', ') : value,
  ]);
  return Object.fromEntries(entries);
}
