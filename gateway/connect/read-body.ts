import { HttpMethodEnum, koaBody } from 'koa-body';
import { GatewayError } from '../errors.js';
import type { SiteContext } from './state.js';

/** Far more than any form or JSON body of the site needs. */
const MAX_BYTES = 64 * 1024;

const read = koaBody({
  json: false,
  urlencoded: false,
  text: true,
  textTypes: ['application/json', 'application/x-www-form-urlencoded'],
  textLimit: MAX_BYTES,
  parsedMethods: [HttpMethodEnum.POST, HttpMethodEnum.PATCH, HttpMethodEnum.DELETE],
  // One character a byte, so that what is not UTF-8 can be told from what is.
  encoding: 'binary',
});

/** The text of a request's body, empty where there is none; it must be of media type `type`, whole and UTF-8. */
export async function readText(ctx: SiteContext, type: string): Promise<string> {
  const { 'content-length': length, 'transfer-encoding': transfer } = ctx.req.headers;
  if (transfer === undefined && (length === undefined || length === '0')) return '';
  const encoding = ctx.get('content-encoding');
  if ((encoding && encoding !== 'identity') || !ctx.is(type)) {
    throw new GatewayError('unsupported_media_type', { message: `Send ${type}, not compressed.` });
  }
  if ((ctx.request.length ?? 0) > MAX_BYTES) throw tooLarge();
  try {
    await read(ctx, async () => undefined);
  } catch (error) {
    if ((error as { status?: number }).status === 413) throw tooLarge();
    throw new GatewayError('bad_request', { message: 'The body did not arrive whole.', cause: error });
  }
  try {
    const { body } = ctx.request as { body?: unknown };
    return new TextDecoder('utf-8', { fatal: true }).decode(Buffer.from(String(body ?? ''), 'latin1'));
  } catch {
    throw new GatewayError('invalid_input', { details: [{ field: 'body', problem: 'must be UTF-8 text' }] });
  }
}

function tooLarge(): GatewayError {
  return new GatewayError('too_large', {
    message: `The body is larger than the ${MAX_BYTES} bytes that this site accepts.`,
  });
}
