import { setImmediate as nextTurn } from 'node:timers/promises';
import { JsonFault, JsonWalk, type WalkedValue, type WalkListener } from '../../schemas/input/json-walk.js';
import { scanJson } from '../../schemas/input/parse.js';
import { isObject } from '../../schemas/json-schema.js';
import { quote } from '../../schemas/quote.js';

/** One message of JSON-RPC, of which only its being an object is known. */
export type Message = Record<string, unknown>;

/** A message; what it gives to a tool is there as it was written, for `argumentsText`. */
export interface ReadMessage {
  message: Message;
}

/** Why bytes are no message: the protocol's own code and words, and the id of the request where that was read. */
export interface MessageFault {
  id: string | number | null;
  code: -32700 | -32600;
  message: string;
}

/** Bytes of a message beside a tool's arguments. */
export const envelopeBytes = 64 * 1024;
/**
 * Objects, lists and other values in them. The SDK validates a message on the main thread and quotes each value that is wrong: 500,000
 * of them cost seven seconds and gave an answer of 121 MB. Clients send a few dozen.
 */
const mostValues = 300;
const tooManyValues = `not hold more than ${mostValues} values beside a tool's arguments`;
/** Characters of a request's id: every answer repeats it. */
const longestId = 128;
/** Bytes of an answer that is an error. */
const mostErrorBytes = 4096;
/** Characters of an error's message that fit into such an answer, however they are escaped. */
const shownCharacters = 500;
/** Bytes that are read, in about a millisecond, before the event loop goes on. */
const stretch = 64 * 1024;

/**
 * Reads bytes as one message; the protocol has no batches any more. Bounds are checked before anything is made of it. A tool's arguments
 * are left as they were written: the helper's own stages read them as they read any body, in a worker where they are long.
 */
export async function readMessage(bytes: Uint8Array): Promise<ReadMessage | { fault: MessageFault }> {
  const outline = new Outline(bytes);
  const refused = (problem: string, what = 'the body', code: MessageFault['code'] = -32600) => {
    const words = code === -32700 ? 'Parse error' : 'Invalid request';
    return { fault: { id: outline.id, code, message: `${words}: ${what} ${problem}.` } };
  };
  try {
    const walk = new JsonWalk(bytes, outline);
    while (walk.step(stretch)) await nextTurn();
  } catch (error) {
    if (!(error instanceof JsonFault)) throw error;
    return refused(`must ${error.message}`, 'the body', error.isOfValue ? -32600 : -32700);
  }
  if (outline.opensWith === '[') return refused('must be one message, not a batch');
  if (outline.opensWith !== '{') return refused('must be an object');
  const { repeated } = outline;
  if (repeated !== undefined) {
    return refused('must be given once, but is given more than once', quote(repeated));
  }
  const { envelope, written } = outline.split();
  if (envelope.length > envelopeBytes) {
    return refused(`must take at most ${envelopeBytes} bytes beside a tool's arguments`);
  }
  const text = envelope.toString();
  const scan = scanJson(text);
  if ('problem' in scan) return refused(scan.problem);
  if (scan.values > mostValues) {
    return refused(`must ${tooManyValues}`);
  }
  const message = JSON.parse(text.replace(/^\ufeff/, '')) as Message;
  if (typeof message.id === 'string' && message.id.length > longestId) {
    return refused(`must have at most ${longestId} characters`, 'id');
  }
  if (written !== undefined && isObject(message.params)) message.params.arguments = { written };
  return { message };
}

/** What a message gives to its tool, as JSON text; `given` are the arguments that came through the SDK. */
export function argumentsText(given: Record<string, unknown> | undefined): string {
  return typeof given?.written === 'string' ? given.written : '{}';
}

/** The name of the tool that a message calls; undefined where it calls none. */
export function calledTool({ method, params }: Message): string | undefined {
  if (method !== 'tools/call' || !isObject(params)) return undefined;
  return typeof params.name === 'string' ? params.name : undefined;
}

/** The same answer, cut where it is an error that quotes too much of what was sent. */
export function boundError<Answer extends object>(answer: Answer): Answer {
  if (!('error' in answer) || !isObject(answer.error)) return answer;
  if (Buffer.byteLength(JSON.stringify(answer)) <= mostErrorBytes) return answer;
  const { code, message } = answer.error;
  return { ...answer, error: { code, message: `${String(message).slice(0, shownCharacters)}…` } };
}

/** The structure of a message, read without parsing its values. */
class Outline implements WalkListener {
  /** The first character of the outermost value. */
  opensWith: string | undefined;
  id: MessageFault['id'] = null;
  /** The first name that stands twice in the message or in its `params`. */
  repeated: string | undefined;
  readonly #bytes: Buffer;
  readonly #names = { outer: new Set<string>(), params: new Set<string>() };
  /** The members that are being read. */
  #member = '';
  #inner = '';
  #callsTool = false;
  #arguments: { start: number; end: number } | undefined;

  constructor({ buffer, byteOffset, byteLength }: Uint8Array) {
    this.#bytes = Buffer.from(buffer, byteOffset, byteLength);
  }

  onName(start: number, end: number): void {
    this.#member = this.#note(this.#names.outer, start, end);
  }

  onInnerName(start: number, end: number): void {
    if (this.#member === 'params') this.#inner = this.#note(this.#names.params, start, end);
  }

  onValue({ depth, inList, start, end }: WalkedValue): void {
    if (depth === 0) this.opensWith = this.#text(start, start + 1);
    else if (depth === 1 && !inList) this.#readMember(start, end);
    else if (depth === 2 && !inList && this.#member === 'params' && this.#inner === 'arguments') {
      // The SDK refuses arguments that are not an object.
      if (this.#text(start, start + 1) === '{') this.#arguments = { start, end };
    }
  }

  /** The message without a tool's arguments, and those. */
  split(): { envelope: Buffer; written: string | undefined } {
    if (!this.#callsTool || !this.#arguments) return { envelope: this.#bytes, written: undefined };
    const { start, end } = this.#arguments;
    const around = [this.#bytes.subarray(0, start), Buffer.from('{}'), this.#bytes.subarray(end)];
    return { envelope: Buffer.concat(around), written: this.#text(start, end) };
  }

  #text(start: number, end: number): string {
    return this.#bytes.toString('utf8', start, end);
  }

  #note(names: Set<string>, start: number, end: number): string {
    const name = JSON.parse(this.#text(start, end)) as string;
    if (names.has(name)) this.repeated ??= name;
    names.add(name);
    if (names.size <= mostValues) return name;
    throw new JsonFault(tooManyValues, { isOfValue: true });
  }

  #readMember(start: number, end: number): void {
    // An escaped character has six bytes.
    if (end - start > longestId * 6) return;
    const text = this.#text(start, end);
    const value: unknown = /^[{[]/.test(text) ? undefined : JSON.parse(text);
    if (this.#member === 'method') this.#callsTool = value === 'tools/call';
    const isId = typeof value === 'number' || (typeof value === 'string' && value.length <= longestId);
    if (this.#member === 'id' && isId) this.id = value;
  }
}
