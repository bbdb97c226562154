import type { Answer } from '../../pool/answer.js';
import type { FileBytes } from '../../pool/task.js';
import type { QueryText } from '../../schemas/input/parse.js';
import type { BodyText } from '../../schemas/input/validate-input.js';
import { GatewayError, inputError } from '../errors.js';
import {
  type BodyWatch,
  bodyTooLarge,
  createTextReader,
  meterBody,
  readWhole,
  requirePlain,
} from '../http/body.js';
import type { InboundBudget } from '../http/inbound-budget.js';
import { largestUpload, type MultipartLimits, readMultipart, uploadTooLarge } from '../http/multipart.js';
import type { Helper } from '../plugins/registry.js';
import type { CallContext, Caller, HttpCall, Stage } from './stage.js';

const json = 'application/json';
const form = 'application/x-www-form-urlencoded';
const multipart = 'multipart/form-data';

/** A body before validation: its text as it came, and the files beside it. */
export interface BodyInput {
  text: BodyText | undefined;
  uploads: ReadonlyMap<string, FileBytes>;
}

type UseInput = (input: BodyInput) => Promise<Answer>;

export const noUploads: BodyInput['uploads'] = new Map();

export function readInput(
  helper: Helper,
  inboundBudget: InboundBudget,
  limits: MultipartLimits,
): Stage<HttpCall & { caller: Caller }, BodyInput> {
  const readText = createTextReader(limits.maxTextBytes);
  const fileFields = helper.declaration.files.map(({ field }) => field);

  return function readInput(call, next) {
    return call.bodyBytes === 0 ? next({ text: undefined, uploads: noUploads }) : read(call, next);
  };

  function read(call: HttpCall & { caller: Caller }, next: UseInput): Promise<Answer> {
    const { ctx, state, caller, bodyBytes } = call;
    const type = typeOf(ctx, bodyBytes);
    const bytes = type === multipart ? undefined : readWhole(ctx.req, bodyBytes);
    if (bytes) {
      const release = inboundBudget.accept(caller.tenant.id, bytes.byteLength);
      state.bytesIn += bytes.byteLength;
      return next({ text: textOf(type, bytes), uploads: noUploads }).finally(release);
    }
    return receive(call, inboundBudget, { read: (watch) => readBody(type, ctx, watch), use: next });
  }

  /** The body's media type; throws where the headers suffice to refuse it. */
  function typeOf(ctx: CallContext, bodyBytes: number): string {
    requirePlain(ctx);
    // koa's own look at it takes 2 µs.
    const type = ctx.req.headers['content-type'] === json ? json : ctx.is(json, form, multipart);
    if (!type) throw new GatewayError('unsupported_media_type');
    if (!Number.isFinite(bodyBytes)) return type;
    if (type === multipart && bodyBytes > largestUpload(limits)) throw uploadTooLarge(limits);
    if (type !== multipart && bodyBytes > limits.maxTextBytes) throw bodyTooLarge(limits.maxTextBytes);
    return type;
  }

  async function readBody(type: string, ctx: CallContext, watch: BodyWatch): Promise<BodyInput> {
    if (type !== multipart) {
      const bytes = await readText(ctx, watch);
      return { text: textOf(type, bytes), uploads: noUploads };
    }
    const { signal } = watch;
    const reading = readMultipart(ctx.req, ctx.get('content-type'), limits, { fileFields, signal });
    const { files, ...text } = await meterBody(ctx.req, reading, watch);
    return { text: { kind: 'fields', ...text }, uploads: files };
  }
}

const textOf = (type: string, bytes: Uint8Array): BodyText => ({
  kind: type === json ? 'json' : 'form',
  bytes,
});

/** Reads a call's body as an inbound transfer of its tenant. Its bytes stay held until `use` has finished with them. */
export async function receive<Read, Result>(
  { ctx, state, caller, bodyBytes }: HttpCall & { caller: Caller },
  inboundBudget: InboundBudget,
  { read, use }: { read: (watch: BodyWatch) => Promise<Read>; use: (read: Read) => Result | Promise<Result> },
): Promise<Result> {
  const transfer = await inboundBudget.enterBody(caller.tenant.id, bodyBytes);
  const watch = {
    signal: transfer.signal,
    onBytes(bytes: number) {
      state.bytesIn += bytes;
      transfer.add(bytes);
    },
  };
  try {
    // It may have waited for long, and some readers never notice a request that has ended.
    if (ctx.req.destroyed) throw inputError([{ field: 'body', problem: 'must be complete' }]);
    if (/^100-continue$/i.test(ctx.get('expect'))) ctx.res.writeContinue();
    // Without a variable, which would hold the bytes as long as the call.
    return await read(watch).then((body) => {
      transfer.complete();
      return use(body);
    });
  } finally {
    transfer.release();
  }
}

/** Applies the limits of a body to input that came otherwise. */
export function requireSize(limits: MultipartLimits): Stage<BodyInput & { query: QueryText }, BodyInput> {
  return function requireSize({ query, text, uploads }, next) {
    let texts = bytesOf(text);
    for (const value of query.values.values()) texts += Buffer.byteLength(value);
    if (texts > limits.maxTextBytes) throw bodyTooLarge(limits.maxTextBytes);
    const files = [...uploads.values()].reduce((sum, { bytes }) => sum + bytes.byteLength, 0);
    if (files > limits.maxFileBytes) throw uploadTooLarge(limits);
    return next({ text, uploads });
  };
}

function bytesOf(text: BodyText | undefined): number {
  if (text === undefined) return 0;
  if (text.kind !== 'fields') return text.bytes.byteLength;
  return [...text.fields.values()].reduce((sum, { byteLength }) => sum + byteLength, 0);
}
