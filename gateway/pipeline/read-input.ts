import { koaBody } from 'koa-body';
import { decodeUtf8, hasBody } from '../body-text.js';
import { GatewayError } from '../errors.js';
import { parseJsonObject } from './json-body.js';
import { multipartOptions, readMultipart, tooManyParts } from './multipart-body.js';
import { parseUrlencoded } from './query.js';
import type { BodyInput, Stage } from './state.js';

export interface BodyLimits {
  /** Bytes of a JSON or form body, and of all text fields of a multipart one. */
  maxTextBytes: number;
  /** Bytes of an uploaded file. */
  maxImageBytes: number;
}

const json = 'application/json';
const form = 'application/x-www-form-urlencoded';
const multipart = 'multipart/form-data';

/** Boundaries and headers of a multipart body, on top of what its parts may hold. */
const multipartOverhead = 64 * 1024;

/**
 * Reads the body of a POST, if there is one, into `state.body`. koa-body reads and bounds it; JSON and forms are taken
 * from it as text, because its own parsers hide repeated names and take time that grows faster than the body.
 */
export function readInput(limits: BodyLimits): Stage {
  const reader = (keepsFile: boolean) =>
    koaBody({
      json: false,
      urlencoded: false,
      text: true,
      textTypes: [json, form],
      multipart: true,
      textLimit: limits.maxTextBytes,
      // For decodeUtf8.
      encoding: 'binary',
      formidable: multipartOptions(limits, keepsFile),
    });
  const withFile = reader(true);
  const withoutFile = reader(false);

  return async function readInput(ctx, next) {
    if (ctx.method === 'POST' && hasBody(ctx.req.headers)) {
      if (ctx.get('content-encoding') && ctx.get('content-encoding') !== 'identity') {
        throw new GatewayError('unsupported_media_type');
      }
      const type = ctx.is(json, form, multipart);
      if (!type) throw new GatewayError('unsupported_media_type');
      const limit =
        type === multipart
          ? limits.maxImageBytes + limits.maxTextBytes + multipartOverhead
          : limits.maxTextBytes;
      if (ctx.request.length !== undefined && ctx.request.length > limit) throw tooLarge(type, limits);
      if (/^100-continue$/i.test(ctx.get('expect'))) ctx.res.writeContinue();
      const read = ctx.state.helper?.declaration.source ? withFile : withoutFile;
      try {
        await unlessAborted(
          read(ctx, async () => undefined),
          ctx.state.place?.signal,
        );
      } catch (error) {
        throw bodyError(error, type, limits);
      }
      ctx.state.body = takeBody(type, ctx.request);
      ctx.state.bytesIn = ctx.request.length ?? sizeOf(ctx.state.body);
    }
    await next();
  };
}

/** An upload whose place was taken back is not waited for. */
function unlessAborted(reading: Promise<unknown>, signal: AbortSignal | undefined): Promise<unknown> {
  if (!signal) return reading;
  const aborted = new Promise((_, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason), { once: true });
  });
  return Promise.race([reading, aborted]);
}

/** Bytes of a body that came in chunks and did not say: what was kept of it. */
function sizeOf({ file, text, json }: BodyInput): number {
  const kept = text ? [...text.values].join() : JSON.stringify(json ?? '');
  return Buffer.byteLength(kept) + (file?.byteLength ?? 0);
}

function takeBody(type: string, request: { body?: unknown; files?: unknown }): BodyInput {
  if (type === multipart) return readMultipart(request.body, request.files);
  const text = decodeUtf8(request.body as string);
  if (text.trim() === '') return {};
  return type === form ? { text: parseUrlencoded(text, 'body') } : { json: parseJsonObject(text) };
}

function tooLarge(type: string, { maxTextBytes, maxImageBytes }: BodyLimits): GatewayError {
  const message =
    type === multipart
      ? `The upload is larger than this gateway accepts: ${maxImageBytes} bytes of file and ${maxTextBytes} of text.`
      : `The body is larger than the ${maxTextBytes} bytes that this gateway accepts.`;
  return new GatewayError('too_large', { message });
}

/** raw-body's errors carry `status`, formidable's `httpCode`; a client that went away shows as either. */
function bodyError(error: unknown, type: string, limits: BodyLimits): GatewayError {
  const { status, httpCode, code } = error as { status?: number; httpCode?: number; code?: unknown };
  if (code === 'tenant_busy') return new GatewayError(code, { cause: error });
  const tooMany = type === multipart ? tooManyParts(code) : undefined;
  if (tooMany) return new GatewayError('invalid_input', { details: [tooMany], cause: error });
  if (status === 413 || httpCode === 413) return tooLarge(type, limits);
  if (type === multipart || (status !== undefined && status < 500)) {
    const problem = `must be complete and well-formed ${type}`;
    return new GatewayError('invalid_input', { details: [{ field: 'body', problem }], cause: error });
  }
  return new GatewayError('internal', { cause: error });
}
