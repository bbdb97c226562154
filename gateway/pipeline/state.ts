import type { RouterContext } from '@koa/router';
import type { Middleware } from 'koa';
import type { Answer } from '../../pool/answer.js';
import type { Turn } from '../../pool/turn.js';
import type { BodyText } from '../../schemas/input/judge-input.js';
import type { QueryText } from '../../schemas/input/urlencoded.js';
import type { ActiveKey } from '../keys/verifier.js';
import type { TenantLimits } from '../limits/tenant-limits.js';
import type { Helper } from '../registry.js';

/** What the stages of one call hand on. Each part is there from the stage on that is named for it. */
export interface CallState {
  /** observe */
  requestId: string;
  /** observe: aborted when the client goes away. */
  gone: AbortSignal;
  /** route: absent on a path that is no helper's. */
  helper?: Helper;
  /** authenticate: the query, parsed once. */
  query?: QueryText;
  tenant?: ActiveKey['tenant'];
  keyId?: string;
  /** authenticate: what the key may call; null is everything. */
  scopes?: readonly string[] | null;
  /** limit: the tenant's own values over the defaults. */
  limits?: TenantLimits;
  /** admit: the call's way through the pool. */
  turn?: Turn;
  /** read-input: what the body holds, before it is judged. */
  body?: BodyInput | undefined;
  /** validate */
  dryrun: boolean;
  input?: Record<string, unknown>;
  /** fetch-source */
  source?: Uint8Array;
  /** run-helper */
  result?: Answer;
  /** read-input, fetch-source: bytes of the body and of what was fetched. */
  bytesIn: number;
  /** run-helper: milliseconds that a worker spent on the task. */
  taskMs: number;
  /** respond: the error's code, and what only the log may know. */
  code?: string;
  fault?: unknown;
}

/** What a POST brought: its text as it came, until it is judged, and the file beside it. */
export interface BodyInput {
  text?: BodyText;
  file?: Uint8Array;
}

/** One call, as its stages see it. */
export type CallContext = RouterContext<CallState>;

/** A stage of the pipeline, as Koa middleware. */
export type Stage = Middleware<CallState, CallContext>;
