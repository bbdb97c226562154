import type { IncomingMessage } from 'node:http';
import type { AnswerHeaders } from '../../pool/answer-headers.js';
import { GatewayError } from '../errors.js';
import { envelopeType, failure, type Meta, successFrame, successText } from '../http/envelope.js';
import { prepareErrorAnswer } from '../http/error-answer.js';
import type { Departures } from '../http/flow/departures.js';
import {
  pieceBytes,
  type StoredBytes,
  sendBody,
  sendStored,
  strangers,
  stretchBytes,
  unread,
} from '../http/flow/pieces.js';
import type { CallContext, CallMiddleware, CallState } from './state.js';

/** Says of an error more to those who may know it. */
export type FaultTeller = (error: GatewayError, request: IncomingMessage) => GatewayError;

/**
 * The one place where a call is answered: bytes, or the JSON envelope, or the error's. Whatever was thrown below
 * becomes one error of the table; what it was in truth goes to the log alone.
 */
export function respond(departures: Departures, tell: FaultTeller): CallMiddleware {
  return async function respond(ctx, next) {
    const { res } = ctx;
    // Helpers send what a customer uploaded: no browser may take it for a page of this host.
    res.setHeader('x-content-type-options', 'nosniff');
    res.setHeader('content-security-policy', "default-src 'none'; sandbox");
    res.setHeader('cache-control', 'no-store');
    try {
      await next();
      const { result } = ctx.state;
      if (result === undefined) {
        if (ctx.status === 404 && ctx.body == null) throw new GatewayError('not_found');
        const { body } = ctx;
        if (typeof body === 'string' || Buffer.isBuffer(body)) send(ctx, body);
        return;
      }
      if (result.kind === 'bytes' && ctx.state.unchanged) sendUnchanged(ctx, result.headers);
      else if (result.kind === 'bytes') {
        ctx.type = result.type;
        setOwn(ctx, result.headers);
        if (ctx.state.stored) await sendLater(ctx, ctx.state.stored, { opening: '', closing: '' });
        else send(ctx, asBuffer(result.bytes));
      } else if (ctx.state.stored) {
        ctx.res.setHeader('content-type', envelopeType);
        await sendLater(ctx, ctx.state.stored, successFrame(metaOf(ctx.state)));
      } else {
        const data = 'text' in result ? result.text : asBuffer(result.bytes);
        sendEnvelope(ctx, successText(data, metaOf(ctx.state)));
      }
    } catch (thrown) {
      const error = tell(prepareErrorAnswer(ctx, thrown), ctx.req);
      ctx.status = error.status;
      if (error.status === 401 && !error.isPast) ctx.set('www-authenticate', 'Bearer realm="helper-gateway"');
      sendEnvelope(ctx, JSON.stringify(failure(error, metaOf(ctx.state))));
    }
  };

  function sendEnvelope(ctx: CallContext, body: Buffer | string): void {
    // Not by Koa's `type`, which looks up what it is given.
    ctx.res.setHeader('content-type', envelopeType);
    send(ctx, body);
  }

  /** The client has the bytes: it is told what holds for them, and none of what they would be framed by. */
  function sendUnchanged(ctx: CallContext, headers: AnswerHeaders | undefined): void {
    ctx.status = 304;
    setOwn(ctx, headers);
    setAll(ctx);
  }

  /** Sends what lies elsewhere, in a frame: what is small as any other answer, the rest a stretch at a time. Nothing of it is read for HEAD. */
  async function sendLater(
    ctx: CallContext,
    stored: StoredBytes,
    { opening, closing }: { opening: string; closing: string },
  ): Promise<void> {
    const { res, state } = ctx;
    const tenant = tenantOf(state);
    const length = Buffer.byteLength(opening) + stored.size + Buffer.byteLength(closing);
    if (ctx.method === 'HEAD') {
      setAll(ctx);
      ctx.status = 200;
      ctx.length = length;
      return;
    }
    const backlog = departures.backlog(tenant);
    if (backlog) throw new GatewayError(backlog === 'own' ? 'tenant_busy' : 'busy', { message: unread });
    const first =
      stored.size === 0 ? Buffer.alloc(0) : await stored.read(0, Math.min(stored.size, stretchBytes));
    if (stored.size <= pieceBytes) {
      return send(ctx, Buffer.concat([Buffer.from(opening), first, Buffer.from(closing)]));
    }
    setAll(ctx);
    const departure = departures.track(res, tenant, first.length);
    ctx.status = 200;
    ctx.length = length;
    if (!ctx.writable) return;
    ctx.respond = false;
    if (opening !== '') res.write(opening);
    sendStored(res, { stored, first, closing }, departure).catch((error) => {
      prepareErrorAnswer(ctx, error);
      // The head is out: all that can still be said is that the body is not whole.
      res.destroy();
    });
  }

  function send(ctx: CallContext, body: Buffer | string): void {
    const { state } = ctx;
    setAll(ctx);
    sendBody(ctx, body, { departures, requester: tenantOf(state), shared: state.sharedBody });
  }
}

function tenantOf({ caller }: CallState): string {
  return caller?.tenant.id ?? strangers;
}

function setAll({ res, state }: CallContext): void {
  for (const name in state.headers) res.setHeader(name, state.headers[name] as string);
}

/** What the helper says of its answer, in place of what stands there for all. */
function setOwn(ctx: CallContext, headers: AnswerHeaders = {}): void {
  for (const name in headers) {
    const value = headers[name] as string;
    // Of what else the answer depends on, such as the page that asks, others have spoken.
    if (name === 'vary') ctx.vary(value);
    else ctx.res.setHeader(name, value);
  }
}

function metaOf({ helper, service, dryrun, requestId }: CallState): Meta {
  return { service: helper?.id ?? service ?? null, dryrun, request_id: requestId };
}

function asBuffer({ buffer, byteOffset, byteLength }: Uint8Array): Buffer {
  return Buffer.from(buffer, byteOffset, byteLength);
}
