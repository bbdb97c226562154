import type { RouterContext } from '@koa/router';
import type { Middleware } from 'koa';
import type { Answer } from '../../pool/answer.js';
import type { Helper } from '../helpers/registry.js';
import type { Ending } from '../http/ending.js';
import type { StoredBytes } from '../http/flow/pieces.js';
import type { ActiveKey } from '../keys/verifier.js';
import type { Trace } from '../tracing/tracing.js';

/**
 * What is known of a call so far: all that its answer, the log, metrics and usage tell of it, however far it came. What a
 * stage needs of another is handed on by it, and does not stand here.
 */
export interface CallState {
  readonly requestId: string;
  /** Comes when the client goes away. */
  readonly gone: Ending;
  /** Follows the call; absent where nobody wants to know. */
  trace?: Trace;
  /** Fields of the answer, whatever it turns out to be. */
  headers: Readonly<Record<string, string>>;
  /** Absent on a path that is no helper's. */
  helper?: Helper;
  /** The helper whose answer this is, where it was given before: an item's of a job. */
  service?: string;
  /** Absent until the key has been found. */
  caller?: Caller;
  dryrun: boolean;
  /** Bytes of the body and of what was fetched. */
  bytesIn: number;
  /** Set where the handler has asked for something to be fetched: its answer is of more than its input. */
  fetched?: true;
  /** Set where the client has the answer already, and is told so without it. */
  unchanged?: true;
  /** Set where a handler that changes something elsewhere may have begun. */
  mayHaveActed?: true;
  /** Milliseconds spent on the call's tasks: in a worker, or here where they were short. */
  taskMs: number;
  /** Set where the body of the answer is one that everybody gets: a page or one of its files. */
  sharedBody?: true;
  /** Absent where the answer is none of data: an error, or OPTIONS. */
  result?: Answer;
  /** Where the bytes of `result` lie, which holds none then: they are read as the client takes them, and not for HEAD. */
  stored?: StoredBytes;
  /** The status that a call came to, where the answer has another: a tool's error is a success of its protocol. */
  cameTo?: number;
  /** The error's code, and what only the log may know. */
  code?: string;
  fault?: unknown;
}

/** The state of a call of which nothing is known yet. */
export function newCallState(requestId: string, gone: Ending): CallState {
  return { requestId, gone, headers: {}, dryrun: false, taskMs: 0, bytesIn: 0 };
}

/** Whose call it is, by its key. */
export interface Caller {
  tenant: ActiveKey['tenant'];
  keyId: string;
  /** What the key may call; null is everything. */
  scopes: readonly string[] | null;
  /** Where the call came by a signed url: when that or its key ends, in seconds since 1970. */
  signedUntil?: number;
}

/** One request of the API, as Koa hands it on. */
export type CallContext = RouterContext<CallState>;

/** What stands around the helpers' stages: it sees every request of the API. */
export type CallMiddleware = Middleware<CallState, CallContext>;
