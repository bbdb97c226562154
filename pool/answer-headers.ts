import { validateHeaderName, validateHeaderValue } from 'node:http';
import { nameOf } from './json-data.js';
import { readThrown } from './thrown.js';

/** Headers that a handler sets, their names in lower case. */
export type AnswerHeaders = Readonly<Record<string, string>>;

/**
 * What is the gateway's to say: how the answer is framed, what it may do in a browser, whose call it was and what is left of his
 * limits; and what speaks for the whole host, on which other helpers are, too.
 */
const owned = new Set([
  ...[
    'connection',
    'content-encoding',
    'content-length',
    'date',
    'keep-alive',
    'te',
    'trailer',
    'transfer-encoding',
    'upgrade',
  ],
  ...['content-security-policy', 'content-security-policy-report-only', 'x-content-type-options', 'refresh'],
  ...['proxy-authenticate', 'retry-after', 'www-authenticate', 'x-request-id'],
  ...[
    'alt-svc',
    'clear-site-data',
    'nel',
    'report-to',
    'reporting-endpoints',
    'server',
    'set-cookie',
    'set-cookie2',
  ],
  ...['service-worker-allowed', 'strict-transport-security'],
]);
const ownedBeginnings = ['access-control-', 'proxy-', 'ratelimit', 'x-ratelimit'];

const most = 50;
const mostCharacters = 8_192;

/** The headers of a result; throws an `Error` that says which cannot be sent. */
export function makeHeaders(value: unknown): AnswerHeaders {
  const isPlain = Object.prototype.toString.call(value) === '[object Object]';
  if (!isPlain)
    throw new Error(`the handler's headers must be an object of strings, but they are ${nameOf(value)}`);
  const headers: Record<string, string> = {};
  let characters = 0;
  for (const [given, text] of Object.entries(value as object)) {
    if (text === undefined) continue;
    const name = given.toLowerCase();
    requireHeader(given, name, text);
    if (Object.hasOwn(headers, name)) throw new Error(`the handler's header ${name} stands twice`);
    characters += name.length + (text as string).length;
    headers[name] = text as string;
  }
  if (Object.keys(headers).length > most || characters > mostCharacters) {
    throw new Error(
      `the handler's headers are more than ${most}, or of more than ${mostCharacters} characters`,
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
  if (owned.has(name) || ownedBeginnings.some((beginning) => name.startsWith(beginning))) {
    throw new Error(`the handler's header ${shown} is the gateway's own and cannot be set`);
  }
}
