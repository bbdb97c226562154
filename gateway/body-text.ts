import { GatewayError } from './errors.js';

/** Whether a request brings a body, by its headers. */
export function hasBody(headers: NodeJS.Dict<string | string[]>): boolean {
  if (headers['transfer-encoding'] !== undefined) return true;
  return headers['content-length'] !== undefined && headers['content-length'] !== '0';
}

/**
 * The text of a body that was read with one character a byte (koa-body's `encoding: 'binary'`), so that what is not UTF-8
 * can be told from what is; throws `invalid_input` for that.
 */
export function decodeUtf8(binary: string): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(Buffer.from(binary, 'latin1'));
  } catch {
    throw new GatewayError('invalid_input', { details: [{ field: 'body', problem: 'must be UTF-8 text' }] });
  }
}
