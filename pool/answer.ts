import { isAnyArrayBuffer } from 'node:util/types';
import { jsonSize } from './json-size.js';

/** What a call is answered with: the envelope's `data` as JSON text in UTF-8, or bytes that are sent as they are. */
export type Answer = { kind: 'json'; bytes: Uint8Array } | { kind: 'bytes'; bytes: Uint8Array; type: string };

const mediaType = /^[\w!#$&^.+-]+\/[\w!#$&^.+-]+(?:\s*;.*)?$/;
const encoder = new TextEncoder();

/**
 * Makes the answer of what a handler has returned, in the thread where the handler ran. Throws an `Error` that says what
 * it may not return, and one with the code `result_too_large` before more than `most` bytes of JSON are made.
 */
export function makeAnswer(value: unknown, most: number): Answer {
  const is = Object.prototype.toString.call(value).slice(8, -1);
  // A Map, a Date, a stream or a bare Buffer would become JSON of a kind, and an empty success is harder to find than a fault.
  if (is !== 'Object')
    throw new Error(`the handler must return an object or {body, type}, but returned ${is}`);
  const { body, type } = value as { body?: unknown; type?: unknown };
  if (body instanceof Uint8Array) {
    if (typeof type === 'string' && mediaType.test(type)) return { kind: 'bytes', bytes: body, type };
    throw new Error(
      `the handler must name the media type of its body, such as image/png, but its type is ${String(type)}`,
    );
  }
  if (ArrayBuffer.isView(body) || isAnyArrayBuffer(body)) {
    throw new Error('the handler must return its body as a Uint8Array (a Buffer is one)');
  }
  if (jsonSize(value, most) > most) throw tooLarge(most);
  return jsonAnswer(value, refuseCode);
}

/** The answer that is this data. */
export function jsonAnswer(data: unknown, replacer?: (key: string, value: unknown) => unknown): Answer {
  return { kind: 'json', bytes: encoder.encode(JSON.stringify(data, replacer)) };
}

/** JSON leaves functions and symbols out without a word. */
function refuseCode(key: string, value: unknown): unknown {
  if (typeof value !== 'function' && typeof value !== 'symbol') return value;
  throw new Error(`the result must be data, but ${JSON.stringify(key)} in it is a ${typeof value}`);
}

function tooLarge(most: number): Error {
  const message = `The answer would be more than the ${most} bytes of JSON that are sent (a control character takes six). Send a smaller input.`;
  return Object.assign(new Error(message), { code: 'result_too_large' });
}
