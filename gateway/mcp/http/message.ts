import { scanJson } from '../../../schemas/input/json-scan.js';
import { readUtf8 } from '../../../schemas/input/utf8.js';
import { isObject } from '../../../schemas/json-schema.js';

/** One message of JSON-RPC, of which nothing is known but that it is an object. */
export type Message = Record<string, unknown>;

/** Why a body is no message: the protocol's own code and words. */
export interface MessageFault {
  code: -32700 | -32600;
  message: string;
}

/** Reads a body as one message; the protocol has no batches any more. */
export function readMessage(bytes: Uint8Array): { message: Message } | { fault: MessageFault } {
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
  if (isObject(value)) return { message: value };
  const what = Array.isArray(value) ? 'one message, not a batch' : 'an object';
  return refused(-32600, `Invalid request: the body must be ${what}.`);
}

/** The name of the tool that a message calls; undefined where it calls none. */
export function calledTool({ method, params }: Message): string | undefined {
  if (method !== 'tools/call' || !isObject(params)) return undefined;
  return typeof params.name === 'string' ? params.name : undefined;
}

function refused(code: MessageFault['code'], message: string): { fault: MessageFault } {
  return { fault: { code, message } };
}
