import type { IncomingHttpHeaders } from 'node:http';
import { errorTable } from '../errors.js';

/** What keys are called elsewhere; in a query and as headers, in lower case. */
const queryNames = new Set([
  'api_key',
  'apikey',
  'api-key',
  'key',
  'token',
  'access_token',
  'auth',
  'x-api-key',
]);
const headerNames = ['x-api-key', 'api-key', 'apikey', 'x-auth-token', 'x-access-token'];

/**
 * What to say where no key was found: what of the call looks like one, and where it is read. Names what it saw by the list above,
 * never by what was sent: the value is a secret, and a name could be the key itself.
 */
export function missingKeyMessage(headers: IncomingHttpHeaders, query: ReadonlyMap<string, string>): string {
  const seen = [...inAuthorization(headers.authorization), ...inHeaders(headers), ...inQuery(query)];
  const read = errorTable.key_missing.message;
  if (seen.length === 0 && query.has('ak'))
    return `No key was found: the query parameter ak is empty. ${read}`;
  if (seen.length === 0) return read;
  return `No key was found: ${seen.join(' and ')} ${seen.length === 1 ? 'is' : 'are'} not read. ${read}`;
}

function inAuthorization(value = ''): string[] {
  if (value === '') return [];
  const [scheme = '', ...rest] = value.trim().split(/\s+/);
  if (/^bearer$/i.test(scheme)) return ['an Authorization: Bearer header that is not followed by one key'];
  if (/^basic$/i.test(scheme)) return ['an Authorization: Basic header'];
  return [
    rest.length === 0
      ? 'an Authorization header without Bearer'
      : 'an Authorization header of another scheme',
  ];
}

function inHeaders(headers: IncomingHttpHeaders): string[] {
  return headerNames.filter((name) => headers[name] !== undefined).map((name) => `the header ${name}`);
}

function inQuery(query: ReadonlyMap<string, string>): string[] {
  const sent = new Set([...query.keys()].map((name) => name.toLowerCase()));
  const names = [...queryNames].filter((name) => sent.has(name)).map((name) => `the query parameter ${name}`);
  return sent.has('ak') && !query.has('ak') ? [...names, 'a query parameter ak in capital letters'] : names;
}
