import { createHmac, timingSafeEqual } from 'node:crypto';
import { signatureParameters } from '../../schemas/declared-helper.js';
import { parseUrlencoded, type QueryText, tryUrl } from '../../schemas/input/parse.js';
import { inputError } from '../errors.js';

interface SignOptions {
  /** The address of a helper with its parameters: whole, or from its path on. */
  url: string;
  /** The key's id. */
  kid: string;
  /** The key's signing secret, `hgs_…`. */
  secret: string;
  /** When it ends, in whole seconds since 1970. */
  exp: number;
}

/** Days that a signed url may work: one signed by mistake ends. Verifying knows no such bound. */
export const longestDays = 366;

/** What is wrong with a url signed at `now` (ms) that works until `exp` (seconds since 1970), if anything. */
export function endProblem(exp: number, now: number): string | undefined {
  if (exp <= Math.ceil(now / 1000) + longestDays * 86_400) return undefined;
  const end = new Date(exp * 1000);
  const until = Number.isNaN(end.getTime()) ? exp : end.toISOString();
  return `would have the url work until ${until}; it may work for ${longestDays} days at most`;
}

/** Parameters that a url must not have before it is signed, and why. */
const ownNames: Record<string, string> = {
  ak: 'the signature takes the place of the key, and whoever reads the page would have it',
  ...Object.fromEntries(signatureParameters.map((name) => [name, 'it is added when the url is signed'])),
};

/** Adds `kid`, `exp` and `sig`; throws `invalid_input` for a url that cannot be signed or holds a key. */
export function signUrl({ url, kid, secret, exp }: SignOptions): string {
  const { origin, path, query, values } = readUnsigned(url);
  const own = { kid, exp: String(exp) };
  const signed = new Map([...values, ...Object.entries(own)]);
  const sig = signatureOf(secret, { path, values: signed });
  return `${origin}${path}?${query === '' ? '' : `${query}&`}${new URLSearchParams({ ...own, sig })}`;
}

export type UnsignedUrl = ReturnType<typeof readUnsigned>;

/** Reads a url to sign; throws as `signUrl` does. `origin` is empty where it begins with its path. */
export function readUnsigned(text: string) {
  const whole = !text.startsWith('/');
  const base = whole ? undefined : 'http://gateway';
  const url = tryUrl(text, base);
  // A path of two slashes is another host's.
  if (!url || (whole ? !/^https?:$/.test(url.protocol) : url.host !== 'gateway')) {
    throw urlError(
      'must be an address with http or https, or begin with the path of a helper such as /media/',
    );
  }
  if (url.username !== '' || url.password !== '') throw urlError('must not hold a user name or password');
  if (text.includes('#')) throw urlError('must not have a fragment; a # inside a parameter is written %23');
  // A trailing & would make an empty parameter, which says nothing.
  const query = url.search.slice(1).replace(/&+$/, '');
  const { values, problems } = parseUrlencoded(query);
  for (const [name, why] of Object.entries(ownNames)) {
    if (values.has(name)) throw urlError(`must not have the parameter ${name}: ${why}`);
  }
  const details = problems.map(({ field, problem }) => ({
    field: 'url',
    problem: `has ${field}, which ${problem}`,
  }));
  if (details.length > 0) throw inputError(details);
  return { origin: whole ? url.origin : '', path: url.pathname, query, values };
}

function urlError(problem: string) {
  return inputError([{ field: 'url', problem }]);
}

/** Why a helper with effects has no signed url; reads on from the name of what holds the url. */
export function noSignatureProblem(service: string): string {
  return `names ${service}, which changes something elsewhere and takes POST alone; a signed url is for GET`;
}

const secondsPattern = /^[1-9]\d{0,14}$/;
/** HMAC-SHA256 in base64url. */
const signaturePattern = /^[\w-]{43}$/;

/** The signature's own parameters; undefined where one is missing or wrong, or the query can be read in two ways. */
export function readSigned({ values, problems }: QueryText) {
  const [kid, exp = '', sig = ''] = signatureParameters.map((name) => values.get(name));
  if (problems.length > 0 || !kid || !secondsPattern.test(exp) || !signaturePattern.test(sig))
    return undefined;
  return { kid, exp: Number(exp), sig };
}

/** What a signature is of: a path as it is sent, and the query's parameters, decoded. */
interface SignedParts {
  path: string;
  values: ReadonlyMap<string, string>;
}

/** The text that is signed: `hg1`, the path and the canonical query, a line each. */
export function signedText({ path, values }: SignedParts): string {
  return `hg1\n${path}\n${canonicalQuery(values)}`;
}

/** HMAC-SHA256 (RFC 2104) in base64url without padding; the key is the whole `hgs_…` text in UTF-8. */
export function signatureOf(secret: string, signed: SignedParts): string {
  return hmac(secret, signedText(signed));
}

/** Whether `signature` is one by these secrets, in constant time. Compared as text: there is one way to write it. */
export function isSignedBy(secrets: readonly string[], text: string, signature: string): boolean {
  const given = Buffer.from(signature);
  const isRight = (right: Buffer) => right.length === given.length && timingSafeEqual(right, given);
  return secrets.filter((secret) => isRight(Buffer.from(hmac(secret, text)))).length > 0;
}

function hmac(secret: string, text: string): string {
  return createHmac('sha256', secret).update(text).digest('base64url');
}

/** The canonical query of AWS Signature Version 4, of all but `sig`: re-encoding and reordering change nothing. */
export function canonicalQuery(values: ReadonlyMap<string, string>): string {
  const pairs = [...values]
    .filter(([name]) => name !== 'sig')
    .map(([name, value]): [string, string] => [percentEncode(name), percentEncode(value)]);
  // By their bytes, for what is encoded is ASCII; no name comes twice.
  pairs.sort(([a], [b]) => (a < b ? -1 : 1));
  return pairs.map(([name, value]) => `${name}=${value}`).join('&');
}

/** A text by RFC 3986. JavaScript's own leaves five characters that are to be encoded. */
function percentEncode(text: string): string {
  return encodeURIComponent(text).replace(
    /[!'()*]/g,
    (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`,
  );
}
