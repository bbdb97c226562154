import { GatewayError } from '../errors.js';
import type { Arrival, Arrivals } from '../flow/arrivals.js';
import { meter } from '../http/meter.js';
import { largestUpload, type MultipartLimits, readMultipart, uploadTooLarge } from '../http/multipart.js';
import { bodyTooLarge, createTextReader, hasBody, requirePlain } from '../http/text-body.js';
import type { BodyInput, CallContext, Stage } from './state.js';

const json = 'application/json';
const form = 'application/x-www-form-urlencoded';
const multipart = 'multipart/form-data';

/** Reads the body of a POST, if there is one, into `state.body`: its bytes, of which nothing is judged yet. */
export function readInput(arrivals: Arrivals, limits: MultipartLimits): Stage {
  const readText = createTextReader({ maxBytes: limits.maxTextBytes, types: [json, form] });

  return async function readInput(ctx, next) {
    if (ctx.method !== 'POST' || !hasBody(ctx.req.headers)) return next();
    const { tenant } = ctx.state;
    if (!tenant) throw new Error('a body is read for a tenant');
    requirePlain(ctx);
    const type = ctx.is(json, form, multipart);
    if (!type) throw new GatewayError('unsupported_media_type');
    const length = ctx.request.length ?? 0;
    if (type === multipart && length > largestUpload(limits)) throw uploadTooLarge(limits);
    if (type !== multipart && length > limits.maxTextBytes) throw bodyTooLarge(limits.maxTextBytes);

    const arrival = arrivals.enter(tenant.id, 'request_timeout');
    try {
      if (/^100-continue$/i.test(ctx.get('expect'))) ctx.res.writeContinue();
      ctx.state.body = await readBody(type, ctx, arrival);
      arrival.complete();
      await next();
    } finally {
      arrival.release();
    }
  };

  async function readBody(type: string, ctx: CallContext, arrival: Arrival): Promise<BodyInput> {
    const watch = {
      signal: arrival.signal,
      onBytes(bytes: number) {
        ctx.state.bytesIn += bytes;
        arrival.add(bytes);
      },
    };
    if (type !== multipart) {
      return { text: { kind: type === json ? 'json' : 'form', bytes: await readText(ctx, watch) } };
    }
    const reading = readMultipart(ctx.req, ctx.get('content-type'), limits, {
      keepsFile: ctx.state.helper?.declaration.source !== undefined,
      signal: arrival.signal,
    });
    const { fields, problems, file } = await meter(ctx.req, reading, watch);
    return { text: { kind: 'fields', fields, problems }, ...(file ? { file } : {}) };
  }
}
