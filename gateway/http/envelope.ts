import type { Context } from 'koa';
import type { FieldProblem } from '../../schemas/field-problem.js';
import { type GatewayError, toGatewayError } from '../errors.js';

/** What every JSON answer says of its call. */
export interface Meta {
  /** The helper's id; null where the path is no helper's. */
  service: string | null;
  dryrun: boolean;
  request_id: string;
}

interface SuccessEnvelope {
  ok: true;
  data: unknown;
  meta: Meta;
}

interface FailureEnvelope {
  ok: false;
  error: { code: string; message: string; details?: FieldProblem[] };
  meta: Meta;
}

/** The media type of every envelope. */
export const envelopeType = 'application/json; charset=utf-8';

/** What an answer says of a request that is no helper's call. */
export function plainMeta(request_id: string): Meta {
  return { service: null, dryrun: false, request_id };
}

/** The JSON answer of a call that succeeded. */
export function success(data: unknown, meta: Meta): SuccessEnvelope {
  return { ok: true, data, meta };
}

/** Bytes of data that are cheaper made a string of than put into a buffer with what stands around them. */
const fewBytes = 8 * 1024;

/** The same as text, of data that is JSON text already: nothing is parsed to be written again. */
export function successText(data: Buffer | string, meta: Meta): Buffer | string {
  const { opening, closing } = successFrame(meta);
  if (data.length <= fewBytes) return opening + data.toString() + closing;
  return Buffer.concat(
    [opening, data, closing].map((part) => (typeof part === 'string' ? Buffer.from(part) : part)),
  );
}

/** What stands before and behind the data of such an answer. */
export function successFrame(meta: Meta): { opening: string; closing: string } {
  return { opening: '{"ok":true,"data":', closing: `,"meta":${JSON.stringify(meta)}}` };
}

/** The JSON answer of a call that failed; the error's cause stays inside. */
export function failure(error: GatewayError, meta: Meta): FailureEnvelope {
  const { code, message, details } = error;
  return { ok: false, error: details ? { code, message, details } : { code, message }, meta };
}

/** Where an answer is readied: its headers, and what the log is to tell of it. */
type AnswerContext = Pick<Context, 'set'> & { state: { code?: string; fault?: unknown } };

/**
 * Makes one error of the table of whatever was thrown and readies the answer for it: headers, and what the log may know.
 * The status and the body of the answer are the caller's.
 */
export function prepareErrorAnswer(ctx: AnswerContext, thrown: unknown): GatewayError {
  const error = toGatewayError(thrown);
  if (!error.isPast) ctx.state.code = error.code;
  if (error.isFault) ctx.state.fault = error.cause ?? error;
  ctx.set(error.headers);
  if (error.retryAfter !== undefined) ctx.set('retry-after', String(error.retryAfter));
  return error;
}
