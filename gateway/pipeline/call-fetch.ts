import type { Fetched, FetchRequest } from '../../pool/context/messages.js';
import { GatewayError } from '../errors.js';
import type { Arrivals } from '../http/flow/arrivals.js';
import type { CheckedUrl, Source } from '../source/fetch.js';
import type { Caller, CallState } from './state.js';

/** A call for which something may be fetched. */
export interface FetchingCall {
  readonly state: Pick<CallState, 'bytesIn' | 'fetched' | 'trace'>;
  readonly caller: Caller;
}

/** Fetches for a call's handler. Rejects with a `GatewayError`, or with the reason of `signal`. */
export type FetchForCall = (
  call: FetchingCall,
  request: FetchRequest,
  signal: AbortSignal,
) => Promise<Fetched>;

/**
 * A handler's way to the network: through the guard that a customer's urls go through, on the tenant's connections and out of the
 * tenant's share of what may be on its way.
 */
export function createFetchForCall(source: Source, arrivals: Arrivals): FetchForCall {
  return async function fetchForCall({ state, caller }, { url, accept = '*/*', maxBytes }, signal) {
    // What is refused, and is caught by the handler, shapes its answer as well.
    state.fetched = true;
    const checked = check(source, url);
    const tenant = caller.tenant.id;
    const arrival = arrivals.enter(tenant, 'source_timeout');
    try {
      const { status, headers, body } = await source.fetch(checked, {
        tenant,
        accept,
        maxBytes,
        anyStatus: true,
        trace: state.trace,
        signal: AbortSignal.any([arrival.ending.signal, signal]),
        onProgress: arrival.add,
      });
      state.bytesIn += body.byteLength;
      return { status, headers: joined(headers), bytes: body };
    } finally {
      arrival.release();
    }
  };
}

/** Whether the url is the helper's or came from its caller, nobody knows: it is no field of the input that could be named. */
function check(source: Source, url: string): CheckedUrl {
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

function joined(headers: Readonly<Record<string, string | string[] | undefined>>): Record<string, string> {
  const entries = Object.entries(headers).map(([name, value = '']): [string, string] => [
    name.toLowerCase(),
    Array.isArray(value) ? value.join(', ') : value,
  ]);
  return Object.fromEntries(entries);
}
