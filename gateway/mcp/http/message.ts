import { memberText, repeatedNames } from '../../../schemas/input/json-object.js';
import { type JsonScan, scanJson } from '../../../schemas/input/json-scan.js';
import { readUtf8 } from '../../../schemas/input/utf8.js';
import { isObject } from '../../../schemas/json-schema.js';
import { quote } from '../../../schemas/quote.js';

/** One message of JSON-RPC, of which nothing is known but that it is an object. */
export type Message = Record<string, unknown>;

/** Why a body is no message: the protocol's own code and words. */
export interface MessageFault {
  code: -32700 | -32600;
  message: string;
}

/** A message, and what it gives to the tool that it calls. */
export interface ReadMessage {
  message: Message;
  /** As it was written: what reads the input of any call reads it, and sees which name stands there twice. */
  argumentsText: string | undefined;
}

/** Reads a body as one message; the protocol has no batches any more. */
export function readMessage(bytes: Uint8Array): ReadMessage | { fault: MessageFault } {
  const text = readUtf8(bytes);
  if ('problems' in text) return refused(-32700, 'Parse error: the body must be UTF-8 text.');
  // Before anything is made of it, as with every JSON that comes from outside.
  const scan = scanJson(text.value);
  if ('problem' in scan) return refused(-32600, `Invalid request: the body ${scan.problem}.`);
  let value: unknown;
  try {
    value = JSON.parse(text.value);
  } catch (error) {
    return refused(-32700, `Parse error: the body must be JSON: ${(error as Error).message.slice(0, 200)}`);
  }
  if (isObject(value)) return readObject(text.value, value, scan);
  const what = Array.isArray(value) ? 'one message, not a batch' : 'an object';
  return refused(-32600, `Invalid request: the body must be ${what}.`);
}

function readObject(text: string, message: Message, scan: JsonScan): ReadMessage | { fault: MessageFault } {
  const params = isObject(message.params) ? (memberText(text, 'params', scan) ?? '{}') : '{}';
  const inner = scanJson(params);
  if ('problem' in inner) return refused(-32600, `Invalid request: params ${inner.problem}.`);
  const [twice] = [...repeatedNames(text, scan), ...repeatedNames(params, inner)];
  if (twice !== undefined) {
    return refused(
      -32600,
      `Invalid request: ${quote(twice)} must be given once, but is given more than once.`,
    );
  }
  return { message, argumentsText: memberText(params, 'arguments', inner) };
}

/** The name of the tool that a message calls; undefined where it calls none. */
export function calledTool({ method, params }: Message): string | undefined {
  if (method !== 'tools/call' || !isObject(params)) return undefined;
  return typeof params.name === 'string' ? params.name : undefined;
}

function refused(code: MessageFault['code'], message: string): { fault: MessageFault } {
  return { fault: { code, message } };
}
