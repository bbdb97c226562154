import { GatewayError } from '../errors.js';
import { envelopeType, failure, type Meta, successText } from '../http/envelope.js';
import { prepareErrorAnswer } from '../http/error-answer.js';
import type { Departures } from '../http/flow/departures.js';
import { inPieces, pieceBytes } from '../http/flow/pieces.js';
import type { CallContext, CallMiddleware } from './state.js';

/**
 * The one place where a call is answered: bytes, or the JSON envelope, or the error's. Whatever was thrown below
 * becomes one error of the table; what it was in truth goes to the log alone.
 */
export function respond(departures: Departures): CallMiddleware {
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
      if (result.kind === 'bytes') send(ctx, result.type, asBuffer(result.bytes));
      else send(ctx, envelopeType, successText(result.bytes, meta()));
    } catch (thrown) {
      const error = prepareErrorAnswer(ctx, thrown);
      ctx.status = error.status;
      if (error.status === 401) ctx.set('www-authenticate', 'Bearer realm="helper-gateway"');
      send(ctx, envelopeType, Buffer.from(JSON.stringify(failure(error, meta()))));
    }
  };

  function send(ctx: CallContext, type: string, body: Buffer): void {
    const departure = departures.track(ctx.res, ctx.state.caller?.tenant.id ?? '', body.length);
    ctx.set(ctx.state.headers);
    ctx.type = type;
    ctx.body = body.length > pieceBytes && ctx.method !== 'HEAD' ? inPieces(body, departure.sent) : body;
    ctx.length = body.length;
  }
}

function asBuffer({ buffer, byteOffset, byteLength }: Uint8Array): Buffer {
  return Buffer.from(buffer, byteOffset, byteLength);
}
