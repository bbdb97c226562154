import type { Context } from 'koa';
import { GatewayError, inputError } from '../../errors.js';
import { meter, type Watch } from './meter.js';

export interface TextBodyOptions {
  /** Bytes at most. */
  maxBytes: number;
  /** Media types that are taken. */
  types: string[];
}

/** Loads koa-body, which brings parsers and a validator that nothing here uses, and takes a tenth of a second for them. */
export const loadKoaBody = () => import('koa-body');

/**
 * Reads the body of a request as bytes. koa-body reads and bounds it; its own parsers of JSON and forms hide repeated names
 * and take time that grows faster than the body. Rejects with `too_large`, `unsupported_media_type` where it is compressed,
 * `invalid_input` where it breaks off, or its ending's reason.
 */
export function createTextReader(
  options: TextBodyOptions,
): (ctx: Context, watch?: Watch) => Promise<Uint8Array> {
  let reader: ReturnType<typeof open> | undefined;

  async function open() {
    const { HttpMethodEnum, koaBody } = await loadKoaBody();
    return koaBody({
      json: false,
      urlencoded: false,
      text: true,
      textTypes: options.types,
      textLimit: options.maxBytes,
      parsedMethods: [HttpMethodEnum.POST, HttpMethodEnum.PATCH, HttpMethodEnum.DELETE],
      // No text: the bytes, of which UTF-8 is judged later.
      encoding: '',
    });
  }

  return async function readText(ctx, watch) {
    reader ??= open();
    const read = await reader;
    const { request } = ctx as Context & { request: { body?: unknown } };
    const reading = read(ctx, async () => undefined);
    try {
      await (watch ? meter(ctx.req, reading, watch) : reading);
    } catch (error) {
      throw bodyError(error, options.maxBytes);
    }
    const { body } = request;
    // The request lives as long as its call, and would hold the text beside what is made of it.
    request.body = undefined;
    return body instanceof Uint8Array ? body : new Uint8Array();
  };
}

/** Whether a request brings a body, by its headers. */
export function hasBody(headers: NodeJS.Dict<string | string[]>): boolean {
  if (headers['transfer-encoding'] !== undefined) return true;
  return headers['content-length'] !== undefined && headers['content-length'] !== '0';
}

/** Bytes of the body that a request brings, by its headers: 0 for none, infinite where they do not say. */
export function announcedBytes(headers: NodeJS.Dict<string | string[]>): number {
  if (!hasBody(headers)) return 0;
  const length = headers['content-length'];
  return headers['transfer-encoding'] === undefined ? Number(length) : Number.POSITIVE_INFINITY;
}

/** Throws for a body that is compressed: it is not decoded here, ever, for a few kilobytes may hold gigabytes. */
export function requirePlain(ctx: Pick<Context, 'get'>, told: { message?: string } = {}): void {
  const encoding = ctx.get('content-encoding');
  if (encoding !== '' && encoding !== 'identity') throw new GatewayError('unsupported_media_type', told);
}

export function bodyTooLarge(maxBytes: number): GatewayError {
  return new GatewayError('too_large', {
    message: `The body is larger than the ${maxBytes} bytes that are accepted here.`,
  });
}

/** raw-body's errors carry `status`; a client that went away shows as one. */
function bodyError(error: unknown, maxBytes: number): unknown {
  if (error instanceof GatewayError) return error;
  const { status } = error as { status?: number };
  if (status === 413) return bodyTooLarge(maxBytes);
  if (status === undefined || status >= 500) return error;
  const problem = 'must be complete, as long as its Content-Length says';
  return inputError([{ field: 'body', problem }], error);
}
