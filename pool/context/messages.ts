import { codedError } from '../errors.js';

/** What a handler may ask of a fetch. */
export interface FetchOptions {
  /** The `Accept` header; anything where absent. */
  accept?: string;
  /** Bytes of the body at most, where that is less than the gateway's own limit. */
  maxBytes?: number;
}

/** A fetch for a handler. */
export interface FetchRequest extends FetchOptions {
  url: string;
}

/** An answer of any status. Names of headers are in lower case; values of one that came several times are joined. */
export interface Fetched {
  status: number;
  headers: Record<string, string>;
  /** Alone in their memory, which may be moved. */
  bytes: Uint8Array<ArrayBuffer>;
}

/** Why the gateway did not fetch, by its table of errors; the message is public. */
export interface FetchRefusal {
  code: string;
  message: string;
}

/** Why a call is to be given up. */
export type AbortCause = 'gone' | 'deadline';

/** What every line of a call's log says. */
export interface CallIds {
  service: string;
  request_id: string;
}

/** A line of a handler's log: `text` is a JSON object with `level` and, mostly, `msg`. */
export interface LogLine extends CallIds {
  text: string;
}

/** Messages from a thread besides its tasks' outcomes. A call is named by the number of its task. */
export type FromThread =
  | { kind: 'fetch'; task: number; id: number; request: FetchRequest }
  | { kind: 'log'; line: LogLine };

/** Messages to a thread while it runs a task. */
export type ToThread =
  | { kind: 'fetched'; task: number; id: number; fetched: Fetched }
  | { kind: 'refused'; task: number; id: number; refusal: FetchRefusal }
  | { kind: 'end'; task: number; why: AbortCause };

/** Where a thread's handlers log. */
export interface LogSink {
  /** Lines below it are not made. */
  logLevel: string;
  write(line: LogLine): void;
}

/** What a call in a worker may request of the main thread, which does all network. */
export interface TaskHost {
  /** Rejects with an error that has a `code` of the gateway's table and a public message. */
  fetch(request: FetchRequest, signal: AbortSignal): Promise<Fetched>;
}

/** What stands around a task while it waits and runs. */
export interface TaskCall {
  host?: TaskHost | undefined;
  /** Set while it runs: to be called when the client has disconnected. */
  onLeave?: (() => void) | undefined;
}

/** An error of the gateway's table as data; any other is a fault, of which a handler learns nothing. */
export function toFetchRefusal(error: unknown): FetchRefusal {
  const { code, message } = (error ?? {}) as Partial<FetchRefusal>;
  return typeof code === 'string' && typeof message === 'string'
    ? { code, message }
    : { code: 'internal', message: 'The gateway could not fetch this.' };
}

/** What the gateway said in the errors that it made: those it knows again, whatever a plugin has written into them since. */
const fetchRefusals = new WeakMap<object, FetchRefusal>();

/** The error with which a handler's `fetch` rejects: it has the `code` of the gateway's table, and may be left uncaught. */
export function fetchError(refusal: FetchRefusal): Error {
  const error = codedError(refusal.code, refusal.message);
  fetchRefusals.set(error, refusal);
  return error;
}

/** What the gateway said in this error; undefined for one that a plugin made itself, however like it looks. */
export function refusalIn(error: unknown): FetchRefusal | undefined {
  return typeof error === 'object' && error !== null ? fetchRefusals.get(error) : undefined;
}

/** A fetch after the answer. */
export function fetchAfterEnd(): Error {
  return fetchError({ code: 'internal', message: 'The call has ended; nothing is fetched for it any more.' });
}
