import { validateHeaderName, validateHeaderValue } from 'node:http';
import { isAnyArrayBuffer, isBoxedPrimitive, isNativeError, isPromise } from 'node:util/types';
import { codedError, readThrown } from './errors.js';

/** What a call is answered with: the envelope's `data` as JSON text, or bytes that are sent as they are. */
export type Answer = { kind: 'json'; text: string } | BytesAnswer;

/** The same in bytes alone, which can be moved between threads: JSON text in UTF-8. */
export type BytesAnswer = { kind: 'json'; bytes: Uint8Array } | BodyAnswer;

/** Bytes that are sent as they are, in place of the envelope. */
export interface BodyAnswer {
  kind: 'bytes';
  bytes: Uint8Array;
  type: string;
  headers?: AnswerHeaders;
}

/** Headers that a handler sets, their names in lower case. */
export type AnswerHeaders = Readonly<Record<string, string>>;

const encoder = new TextEncoder();

/**
 * Makes the answer of what a handler has returned, in the thread where the handler ran. Throws an `Error` that says what
 * it may not return, or that its bytes are more than `mostBytes`, and one with the code `result_too_large` before more than `most` bytes
 * of JSON or text are made.
 */
export function makeAnswer(value: unknown, most: number, mostBytes = Number.POSITIVE_INFINITY): Answer {
  // A Map, a Date, a stream or a bare Buffer would become JSON of a kind, and an empty success is harder to find than a fault.
  if (!isObject(value) || lossInJson(value) !== undefined) {
    throw new Error(
      `the handler returned ${nameOf(value)}${insteadOfLost(value)}; it may return a plain object, which becomes data, or {body: Uint8Array | string, type: a media type, headers?}`,
    );
  }
  if (typeof (value as { encode?: unknown }).encode === 'function') {
    throw new Error(
      'the handler returned a picture; encode it: return image.encode("png"), "jpg", "webp", "avif" or "same"',
    );
  }
  const sent = makeBodyAnswer(value, most, mostBytes);
  if (sent) return sent;
  const tooLarge = () => resultTooLarge('JSON that are sent (a control character takes six)', most);
  if (jsonSize(value, most) > most) throw tooLarge();
  const text = JSON.stringify(value);
  if (!text?.startsWith('{')) {
    throw new Error(`the handler returned an object whose toJSON gives ${text?.slice(0, 60)}, not an object`);
  }
  // A getter may give more than it did when it was measured.
  if (text.length > most) throw tooLarge();
  return { kind: 'json', text };
}

/** The answer that is this data. */
export function jsonAnswer(data: object): Answer {
  return { kind: 'json', text: JSON.stringify(data) };
}

/** The text of an answer that is data. */
export function jsonText(answer: Exclude<Answer, BodyAnswer>): string {
  return 'text' in answer ? answer.text : new TextDecoder().decode(answer.bytes);
}

/** The answer in bytes, for another thread. */
export function toBytes(answer: Answer): BytesAnswer {
  return 'text' in answer ? { kind: 'json', bytes: encoder.encode(answer.text) } : answer;
}

/** A handler's result past the bytes that are sent; by its `code` it becomes the caller's fault. `message` is public. */
function resultTooLarge(what: string, most: number): Error {
  const message = `The answer would be more than the ${most} bytes of ${what}. Send a smaller input.`;
  return codedError('result_too_large', message);
}

const mediaType = /^[\w!#$&^.+-]+\/[\w!#$&^.+-]+(?:\s*;[\t\x20-\x7e]*)?$/;
const charset = /;\s*charset\s*=\s*"?([^\s;"]*)/i;
const forData = '; to answer with data that has fields of these names, put it inside another field';

/**
 * The answer of a result `{body, type, headers?}`: `body` is a Uint8Array, or a string together with a string `type`. Undefined where
 * the result is none of these and may be data. Throws an `Error` that says what cannot be sent, such as more than `mostBytes`, and one
 * with the code `result_too_large` for text of more than `most` bytes.
 */
function makeBodyAnswer(result: object, most: number, mostBytes: number): BodyAnswer | undefined {
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
  if (Buffer.byteLength(body) > most) throw resultTooLarge('text that are sent', most);
  return { kind: 'bytes', bytes: encoder.encode(body), type: withCharset(type), ...own };
}

/** A stream or a buffer of another kind can be no data, so it was meant to be sent. */
function refuseOtherBodies(body: unknown): void {
  if (body instanceof Uint8Array || typeof body !== 'object') return;
  const lost = isAnyArrayBuffer(body) ? nameOf(body) : lossInJson(body);
  if (lost === undefined) return;
  throw new Error(
    `the handler must return its body as a string or a Uint8Array (a Buffer is one), but its body is ${lost}`,
  );
}

/** Any other field would be dropped silently. */
function refuseOtherFields(result: object): void {
  const others = Object.entries(result).filter(
    ([key, value]) => !['body', 'type', 'headers'].includes(key) && value !== undefined,
  );
  if (others.length === 0) return;
  const names = others.map(([key]) => key.slice(0, 60)).slice(0, 10);
  throw new Error(
    `the handler returned ${names.join(', ')} beside body and type, which are sent with headers alone, and with status 200: a status cannot be set${forData}`,
  );
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

/** Headers of the gateway: an answer's framing, its rights in a browser, the caller's limits, and what holds for the whole host. */
const reservedHeaders = new RegExp(
  `^(?:${[
    'connection|content-encoding|content-length|date|keep-alive|te|trailer|transfer-encoding|upgrade',
    'content-security-policy|content-security-policy-report-only|x-content-type-options|refresh',
    'retry-after|www-authenticate|x-request-id',
    'alt-svc|clear-site-data|nel|report-to|reporting-endpoints|server|set-cookie|set-cookie2',
    'service-worker-allowed|strict-transport-security',
    '(?:access-control-|proxy-|ratelimit|x-ratelimit).*',
  ].join('|')})$`,
);

const maxHeaders = 50;
const maxHeaderCharacters = 8_192;

/** The headers of a result; throws an `Error` that says which cannot be sent. */
function makeHeaders(value: unknown): AnswerHeaders {
  if (!isObject(value)) {
    throw new Error(`the handler's headers must be an object of strings, but they are ${nameOf(value)}`);
  }
  const headers: Record<string, string> = {};
  let characters = 0;
  for (const [given, text] of Object.entries(value)) {
    if (text === undefined) continue;
    const name = given.toLowerCase();
    requireHeader(given, name, text);
    if (Object.hasOwn(headers, name)) throw new Error(`the handler's header ${name} stands twice`);
    characters += name.length + (text as string).length;
    headers[name] = text as string;
  }
  if (Object.keys(headers).length > maxHeaders || characters > maxHeaderCharacters) {
    throw new Error(
      `the handler's headers are more than ${maxHeaders}, or of more than ${maxHeaderCharacters} characters`,
    );
  }
  return headers;
}

function requireHeader(given: string, name: string, text: unknown): void {
  const shown = JSON.stringify(given.slice(0, 60));
  if (typeof text !== 'string') {
    throw new Error(`the handler's header ${shown} must be a string, but is ${nameOf(text)}`);
  }
  try {
    validateHeaderName(given);
    validateHeaderValue(given, text);
  } catch (error) {
    throw new Error(
      `the handler's header ${shown} cannot be sent: ${readThrown(error).message.slice(0, 200)}`,
    );
  }
  if (name === 'content-type')
    throw new Error("the handler's content-type is its type, not one of its headers");
  if (reservedHeaders.test(name)) {
    throw new Error(`the handler's header ${shown} is the gateway's own and cannot be set`);
  }
}

/**
 * What JSON would silently leave out, empty or garble: `a function`, `a Map`, `a Promise`, `a ReadStream`. Undefined for data, and for
 * what has a `toJSON` (a Date, a URL). What has customary JSON is data too: an undefined field is left out, NaN is null, an instance
 * of a class is its own fields.
 */
function lossInJson(value: unknown): string | undefined {
  if (typeof value === 'bigint') return hasOwnJson(value) ? undefined : 'a bigint';
  if (typeof value === 'function' || typeof value === 'symbol') return `a ${typeof value}`;
  const isLost = typeof value === 'object' && value !== null && !isPlain(value) && isLostObject(value);
  return isLost ? nameOf(value) : undefined;
}

/** What an author may write instead of what is lost, to follow a message that names it; empty where that is unknown. */
function insteadOfLost(value: unknown): string {
  if (value === undefined) return ' (is a return missing?)';
  if (typeof value === 'bigint') return ' (write String(…) or Number(…))';
  if (value instanceof Map) return ' (write Object.fromEntries(…))';
  if (value instanceof Set) return ' (write [...…])';
  if (isPromise(value)) return ' (await it)';
  if (isNativeError(value)) return ' (throw it)';
  return Array.isArray(value) ? ' (put it into a field)' : '';
}

/** Whether the value has a `toJSON`, which `JSON.stringify` then asks. */
function hasOwnJson(value: unknown): value is { toJSON(key: string): unknown } {
  return typeof (value as { toJSON?: unknown } | null | undefined)?.toJSON === 'function';
}

/** A value's kind with its article: `a Response`, `an array`, `a string`, `undefined`. */
export function nameOf(value: unknown): string {
  if (value === undefined || value === null) return String(value);
  const own: unknown = typeof value === 'object' ? value.constructor?.name : undefined;
  const name = typeof own === 'string' && own !== '' ? own.slice(0, 60) : typeof value;
  return /^[aeio]/i.test(name) ? `an ${name}` : `a ${name}`;
}

/** Objects as literals make them, of any realm, and arrays. */
function isPlain(value: object): boolean {
  if (Array.isArray(value)) return true;
  const prototype = Object.getPrototypeOf(value);
  return prototype === null || Object.getPrototypeOf(prototype) === null;
}

function isLostObject(value: object): boolean {
  // JSON would write bytes as an object of numbers.
  if (ArrayBuffer.isView(value)) return true;
  if (hasOwnJson(value) || isBoxedPrimitive(value)) return false;
  if (isNativeError(value) || isPromise(value) || Symbol.asyncIterator in value) return true;
  return Object.keys(value).length === 0;
}

function isObject(value: unknown): value is object {
  return Object.prototype.toString.call(value) === '[object Object]';
}

/** No result that makes sense is deeper; one that holds itself is without end. */
const deepest = 200;

/**
 * Bytes of a value as JSON in UTF-8, at least, and not counted further than `most`: a megabyte of control characters becomes six, and
 * is to be refused before they are made. Throws for a value that is too deep or holds itself, and for one that is no data, with its path.
 */
export function jsonSize(value: unknown, most: number): number {
  let size = 0;
  const path: string[] = [];

  function add(given: unknown): void {
    if (size > most) return;
    requireData(given);
    // Asked once, as JSON.stringify does.
    const part = hasOwnJson(given) ? given.toJSON(path.at(-1) ?? '') : given;
    if (part !== given) requireData(part);
    if (typeof part === 'string') size += 2 + stringSize(part);
    else if (typeof part !== 'object' || part === null) size += 4;
    else {
      if (path.length > deepest)
        throw new Error(`the result is nested more than ${deepest} levels deep, or holds itself`);
      for (const [key, item] of Object.entries(part)) {
        size += Array.isArray(part) ? 1 : 4 + key.length;
        path.push(key);
        add(item);
        path.pop();
        if (size > most) return;
      }
    }
  }

  function requireData(part: unknown): void {
    const lost = lossInJson(part);
    if (lost === undefined) return;
    const where = path.join('.').slice(0, 200) || 'it';
    throw new Error(`the result must be data, but ${where} is ${lost}${insteadOfLost(part)}`);
  }

  add(value);
  return size;
}

function stringSize(text: string): number {
  let size = Buffer.byteLength(text);
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    if (code < 0x20) size += code >= 8 && code <= 13 && code !== 11 ? 1 : 5;
    else if (code === 0x22 || code === 0x5c) size += 1;
  }
  return size;
}
