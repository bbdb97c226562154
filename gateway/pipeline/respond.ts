import { discardBody } from '../discard-body.js';
import { failure, type Meta, success } from '../envelope.js';
import { GatewayError, isErrorCode } from '../errors.js';
import type { Stage } from './state.js';

/**
 * The one place where a call is answered: bytes, or the JSON envelope, or the error's. Whatever was thrown below
 * becomes one error of the table; what it was in truth goes to the log alone.
 */
export function respond(): Stage {
  return async function respond(ctx, next) {
    // Helpers send what a customer uploaded: no browser may take it for a page of this host.
    ctx.set({
      'x-content-type-options': 'nosniff',
      'content-security-policy': "default-src 'none'; sandbox",
      'cache-control': 'no-store',
    });
    const meta = (): Meta => ({
      service: ctx.state.helper?.id ?? null,
      dryrun: ctx.state.dryrun,
      request_id: ctx.state.requestId,
    });
    try {
      await next();
      const { result } = ctx.state;
      if (result === undefined) {
        if (ctx.status === 404 && ctx.body == null) throw new GatewayError('not_found');
        return;
      }
      if (isBinary(result)) {
        ctx.type = result.type;
        ctx.body = Buffer.from(result.body.buffer, result.body.byteOffset, result.body.byteLength);
      } else ctx.body = JSON.stringify(success(result, meta()));
      if (!isBinary(result)) ctx.type = 'application/json; charset=utf-8';
    } catch (thrown) {
      const error = toGatewayError(thrown);
      ctx.state.code = error.code;
      if (error.status >= 500) ctx.state.fault = error.cause ?? error;
      ctx.status = error.status;
      ctx.set(error.headers);
      if (error.retryAfter !== undefined) ctx.set('retry-after', String(error.retryAfter));
      if (error.status === 401) ctx.set('www-authenticate', 'Bearer realm="helper-gateway"');
      ctx.type = 'application/json; charset=utf-8';
      ctx.body = JSON.stringify(failure(error, meta()));
      discardBody(ctx.req);
    }
  };
}

function isBinary(result: object): result is { body: Uint8Array; type: string } {
  return 'body' in result && result.body instanceof Uint8Array && 'type' in result;
}

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
