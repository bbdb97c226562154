import { type BodyAnswer, makeBodyAnswer } from './body-answer.js';
import { insteadOfLost, lostInJson, nameOf } from './json-data.js';
import { jsonSize } from './json-size.js';
import { resultTooLarge } from './result-too-large.js';

/** What a call is answered with: the envelope's `data` as JSON text, or bytes that are sent as they are. */
export type Answer = { kind: 'json'; text: string } | BytesAnswer;

/** The same in bytes alone, which can be moved between threads: JSON text in UTF-8. */
export type BytesAnswer = { kind: 'json'; bytes: Uint8Array } | BodyAnswer;

const encoder = new TextEncoder();
const decoder = new TextDecoder();

/**
 * Makes the answer of what a handler has returned, in the thread where the handler ran. Throws an `Error` that says what
 * it may not return, or that its bytes are more than `mostBytes`, and one with the code `result_too_large` before more than `most` bytes
 * of JSON or text are made.
 */
export function makeAnswer(value: unknown, most: number, mostBytes = Number.POSITIVE_INFINITY): Answer {
  // A Map, a Date, a stream or a bare Buffer would become JSON of a kind, and an empty success is harder to find than a fault.
  const isObject = Object.prototype.toString.call(value) === '[object Object]';
  if (!isObject || lostInJson(value) !== undefined) {
    throw new Error(
      `the handler returned ${nameOf(value)}${insteadOfLost(value)}; it may return a plain object, which becomes data, or {body: Uint8Array | string, type: a media type, headers?}`,
    );
  }
  if (typeof (value as { encode?: unknown }).encode === 'function') {
    throw new Error(
      'the handler returned a picture; encode it: return image.encode("png"), "jpg", "webp", "avif" or "same"',
    );
  }
  const sent = makeBodyAnswer(value as object, most, mostBytes);
  if (sent) return sent;
  if (jsonSize(value, most) > most) throw resultTooLarge('JSON', most);
  const text = JSON.stringify(value);
  if (!text?.startsWith('{')) {
    throw new Error(`the handler returned an object whose toJSON gives ${text?.slice(0, 60)}, not an object`);
  }
  // A getter may give more than it did when it was measured.
  if (text.length > most) throw resultTooLarge('JSON', most);
  return { kind: 'json', text };
}

/** The answer that is this data. */
export function jsonAnswer(data: object): Answer {
  return { kind: 'json', text: JSON.stringify(data) };
}

/** The text of an answer that is data. */
export function jsonText(answer: Exclude<Answer, BodyAnswer>): string {
  return 'text' in answer ? answer.text : decoder.decode(answer.bytes);
}

/** The answer as another thread takes it. */
export function toBytes(answer: Answer): BytesAnswer {
  return 'text' in answer ? { kind: 'json', bytes: encoder.encode(answer.text) } : answer;
}
