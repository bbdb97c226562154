import { readUtf8 } from '../../../schemas/input/utf8.js';
import { GatewayError, inputError } from '../../errors.js';
import { bodyTooLarge, createTextReader, hasBody, requirePlain } from '../../http/body/text-body.js';
import type { SiteContext } from '../state.js';

/** Far more than any form or JSON body of the site needs. */
const mostBytes = 64 * 1024;

const read = createTextReader({
  maxBytes: mostBytes,
  types: ['application/json', 'application/x-www-form-urlencoded'],
});

/** The text of a request's body, empty where there is none; it must be of media type `type`, whole and UTF-8. */
export async function readText(ctx: SiteContext, type: string): Promise<string> {
  if (!hasBody(ctx.req.headers)) return '';
  requirePlain(ctx);
  if (!ctx.is(type)) {
    throw new GatewayError('unsupported_media_type', { message: `Send ${type}, not compressed.` });
  }
  if ((ctx.request.length ?? 0) > mostBytes) throw bodyTooLarge(mostBytes);
  const text = readUtf8(await read(ctx));
  if ('problems' in text) throw inputError(text.problems);
  return text.value;
}
