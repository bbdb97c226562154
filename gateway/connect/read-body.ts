import { HttpMethodEnum, koaBody } from 'koa-body';
import { decodeUtf8, hasBody } from '../body-text.js';
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
  // For decodeUtf8.
  encoding: 'binary',
});

/** The text of a request's body, empty where there is none; it must be of media type `type`, whole and UTF-8. */
export async function readText(ctx: SiteContext, type: string): Promise<string> {
  if (!hasBody(ctx.req.headers)) return '';
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
  const { body } = ctx.request as { body?: unknown };
  return decodeUtf8(String(body ?? ''));
}

function tooLarge(): GatewayError {
  return new GatewayError('too_large', {
    message: `The body is larger than the ${MAX_BYTES} bytes that this site accepts.`,
  });
}
