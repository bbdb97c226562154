import type { Context } from 'koa';
import { GatewayError, isErrorCode } from './errors.js';

/** Codes that come from below the gateway, from a place in the pool or a picture, with a public message of their own. */
const imageCodes = new Set(['bad_image', 'image_too_large']);

/** Reads an error by shape, as plugins and the pool have no part in the gateway's classes. */
export function toGatewayError(thrown: unknown): GatewayError {
  if (thrown instanceof GatewayError) return thrown;
  const { code, message, retryAfter } = (thrown ?? {}) as {
    code?: unknown;
    message?: unknown;
    retryAfter?: number;
  };
  if (!isErrorCode(code)) return new GatewayError('internal', { cause: thrown });
  return new GatewayError(code, {
    cause: thrown,
    ...(imageCodes.has(code) ? { message: String(message) } : {}),
    ...(retryAfter === undefined ? {} : { retryAfter }),
  });
}

/**
 * Makes one error of the table of whatever was thrown and readies the answer for it: headers, and what the log may know.
 * The status and the body of the answer are the caller's.
 */
export function prepareErrorAnswer(ctx: Context, thrown: unknown): GatewayError {
  const error = toGatewayError(thrown);
  ctx.state.code = error.code;
  if (error.isFault) ctx.state.fault = error.cause ?? error;
  ctx.set(error.headers);
  if (error.retryAfter !== undefined) ctx.set('retry-after', String(error.retryAfter));
  return error;
}
