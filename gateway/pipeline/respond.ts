import { prepareErrorAnswer } from '../answer-error.js';
import { failure, type Meta, success } from '../envelope.js';
import { GatewayError } from '../errors.js';
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
      } else {
        ctx.type = 'application/json; charset=utf-8';
        ctx.body = JSON.stringify(success(result, meta()));
      }
    } catch (thrown) {
      const error = prepareErrorAnswer(ctx, thrown);
      ctx.status = error.status;
      if (error.status === 401) ctx.set('www-authenticate', 'Bearer realm="helper-gateway"');
      ctx.type = 'application/json; charset=utf-8';
      ctx.body = JSON.stringify(failure(error, meta()));
    }
  };
}

function isBinary(result: object): result is { body: Uint8Array; type: string } {
  return 'body' in result && result.body instanceof Uint8Array && 'type' in result;
}
