import type { BodyText } from '../../schemas/input/judge-input.js';
import { GatewayError } from '../errors.js';
import type { Helper } from '../helpers/registry.js';
import { meter, type Watch } from '../http/body/meter.js';
import {
  largestUpload,
  type MultipartLimits,
  readMultipart,
  uploadTooLarge,
} from '../http/body/multipart.js';
import { bodyTooLarge, createTextReader, requirePlain } from '../http/body/text-body.js';
import type { Arrivals } from '../http/flow/arrivals.js';
import type { HttpCall, Stage } from './stage.js';
import type { CallContext, Caller } from './state.js';

const json = 'application/json';
const form = 'application/x-www-form-urlencoded';
const multipart = 'multipart/form-data';

/** What a body brought, of which nothing is judged yet: its text as it came, and the file beside it. */
export interface BodyInput {
  text: BodyText | undefined;
  file: Uint8Array | undefined;
}

/** Reads the body, if there is one. */
export function readInput(
  helper: Helper,
  arrivals: Arrivals,
  limits: MultipartLimits,
): Stage<HttpCall & { caller: Caller }, BodyInput> {
  const readText = createTextReader({ maxBytes: limits.maxTextBytes, types: [json, form] });
  const keepsFile = helper.declaration.source !== undefined;

  return async function readInput({ ctx, state, bodyBytes, caller }, next) {
    if (bodyBytes === 0) return next({ text: undefined, file: undefined });
    const type = typeOf(ctx, bodyBytes);
    const arrival = arrivals.enter(caller.tenant.id, 'request_timeout');
    const watch = {
      ending: arrival.ending,
      onBytes(bytes: number) {
        state.bytesIn += bytes;
        arrival.add(bytes);
      },
    };
    try {
      if (/^100-continue$/i.test(ctx.get('expect'))) ctx.res.writeContinue();
      // Not awaited to a variable, which would hold the bytes for as long as the call lasts.
      return await readBody(type, ctx, watch).then((body) => {
        arrival.complete();
        return next(body);
      });
    } finally {
      arrival.release();
    }
  };

  /** The body's media type; throws for one that need not be read to be refused. */
  function typeOf(ctx: CallContext, bodyBytes: number): string {
    requirePlain(ctx);
    const type = ctx.is(json, form, multipart);
    if (!type) throw new GatewayError('unsupported_media_type');
    if (!Number.isFinite(bodyBytes)) return type;
    if (type === multipart && bodyBytes > largestUpload(limits)) throw uploadTooLarge(limits);
    if (type !== multipart && bodyBytes > limits.maxTextBytes) throw bodyTooLarge(limits.maxTextBytes);
    return type;
  }

  async function readBody(type: string, ctx: CallContext, watch: Watch): Promise<BodyInput> {
    if (type !== multipart) {
      const bytes = await readText(ctx, watch);
      return { text: { kind: type === json ? 'json' : 'form', bytes }, file: undefined };
    }
    const { signal } = watch.ending;
    const reading = readMultipart(ctx.req, ctx.get('content-type'), limits, { keepsFile, signal });
    const { file, ...text } = await meter(ctx.req, reading, watch);
    return { text: { kind: 'fields', ...text }, file };
  }
}
