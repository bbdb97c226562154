import type { Answer } from '../../pool/answer.js';
import type { FileBytes } from '../../pool/task.js';
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
import { receive } from './receive.js';
import type { HttpCall, Stage } from './stage.js';
import type { CallContext, Caller } from './state.js';

const json = 'application/json';
const form = 'application/x-www-form-urlencoded';
const multipart = 'multipart/form-data';

/** What a body brought, of which nothing is judged yet: its text as it came, and the files beside it. */
export interface BodyInput {
  text: BodyText | undefined;
  uploads: ReadonlyMap<string, FileBytes>;
}

/** Of a call that brought no file. */
export const noUploads: BodyInput['uploads'] = new Map();

/** Reads the body, if there is one. */
export function readInput(
  helper: Helper,
  arrivals: Arrivals,
  limits: MultipartLimits,
): Stage<HttpCall & { caller: Caller }, BodyInput> {
  const readText = createTextReader({ maxBytes: limits.maxTextBytes, types: [json, form] });
  const fileFields = helper.declaration.files.map(({ field }) => field);

  return function readInput(call, next) {
    return call.bodyBytes === 0 ? next({ text: undefined, uploads: noUploads }) : read(call, next);
  };

  function read(
    call: HttpCall & { caller: Caller },
    next: Parameters<ReturnType<typeof readInput>>[1],
  ): Promise<Answer> {
    const { ctx, bodyBytes } = call;
    const type = typeOf(ctx, bodyBytes);
    return receive(call, arrivals, { read: (watch) => readBody(type, ctx, watch), use: next });
  }

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
      return { text: { kind: type === json ? 'json' : 'form', bytes }, uploads: noUploads };
    }
    const { signal } = watch.ending;
    const reading = readMultipart(ctx.req, ctx.get('content-type'), limits, { fileFields, signal });
    const { files, ...text } = await meter(ctx.req, reading, watch);
    return { text: { kind: 'fields', ...text }, uploads: files };
  }
}
