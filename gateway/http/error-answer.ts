import type { Context } from 'koa';
import type { GatewayError } from '../errors.js';
import { toGatewayError } from './read-error.js';

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
