import { isAnyArrayBuffer } from 'node:util/types';
import { type AnswerHeaders, makeHeaders } from './answer-headers.js';
import { lostInJson, nameOf } from './json-data.js';
import { resultTooLarge } from './result-too-large.js';

/** Bytes that are sent as they are, in place of the envelope. */
export interface BodyAnswer {
  kind: 'bytes';
  bytes: Uint8Array;
  type: string;
  headers?: AnswerHeaders;
}

const mediaType = /^[\w!#$&^.+-]+\/[\w!#$&^.+-]+(?:\s*;[\t\x20-\x7e]*)?$/;
const charset = /;\s*charset\s*=\s*"?([^\s;"]*)/i;
const encoder = new TextEncoder();

/**
 * The answer of a result `{body, type, headers?}`: `body` is a Uint8Array, or a string together with a string `type`. Undefined where
 * the result is none of these and may be data. Throws an `Error` that says what cannot be sent, such as more than `mostBytes`, and one
 * with the code `result_too_large` for text of more than `most` bytes.
 */
export function makeBodyAnswer(result: object, most: number, mostBytes: number): BodyAnswer | undefined {
  const { body, type, headers } = result as { body?: unknown; type?: unknown; headers?: unknown };
  refuseOtherBodies(body);
  const isBytes = body instanceof Uint8Array;
  if (!isBytes && (typeof body !== 'string' || typeof type !== 'string')) return undefined;
  if (typeof type !== 'string' || !mediaType.test(type)) {
    throw new Error(
      `the handler must name the media type of its body, such as image/png, but its type is ${typeof type === 'string' ? JSON.stringify(type.slice(0, 100)) : nameOf(type)}${isBytes ? '' : forData}`,
    );
  }
  refuseOtherFields(result);
  const own = headers === undefined ? undefined : { headers: makeHeaders(headers) };
  if (isBytes && body.byteLength > mostBytes) {
    throw new Error(
      `the handler returned a body of ${body.byteLength} bytes; one answer may have ${mostBytes}, a quarter of HELPER_OUTPUT_BYTES`,
    );
  }
  if (isBytes) return { kind: 'bytes', bytes: body, type, ...own };
  if (Buffer.byteLength(body) > most) throw resultTooLarge('text', most);
  return { kind: 'bytes', bytes: encoder.encode(body), type: withCharset(type), ...own };
}

const forData = '; to answer with data that has fields of these names, put it inside another field';

/** A stream or a buffer of another kind can be no data, so it was meant to be sent. */
function refuseOtherBodies(body: unknown): void {
  if (body instanceof Uint8Array || typeof body !== 'object') return;
  const lost = isAnyArrayBuffer(body) ? nameOf(body) : lostInJson(body);
  if (lost === undefined) return;
  throw new Error(
    `the handler must return its body as a string or a Uint8Array (a Buffer is one), but its body is ${lost}`,
  );
}

/** What would be dropped without a word. */
function refuseOtherFields(result: object): void {
  const others = Object.entries(result).filter(([key, value]) => !isOwn(key) && value !== undefined);
  if (others.length === 0) return;
  const names = others.map(([key]) => key.slice(0, 60)).slice(0, 10);
  throw new Error(
    `the handler returned ${names.join(', ')} beside body and type, which are sent with headers alone, and with status 200: a status cannot be set${forData}`,
  );
}

function isOwn(key: string): boolean {
  return key === 'body' || key === 'type' || key === 'headers';
}

/** A string is sent as UTF-8, and browsers would read text without a charset as something else. */
function withCharset(type: string): string {
  const [, named] = charset.exec(type) ?? [];
  if (named === undefined) return /^text\//i.test(type) ? `${type}; charset=utf-8` : type;
  if (/^utf-?8$/i.test(named)) return type;
  throw new Error(
    `the handler's type names the charset ${named.slice(0, 60)}, but a string is sent as UTF-8: return bytes for any other`,
  );
}
