import { parseUrlencoded } from '../../schemas/input/urlencoded.js';
import { signatureParameters } from '../../schemas/parameters/gateway-parameters.js';
import { tryUrl } from '../../schemas/try-url.js';
import { inputError } from '../errors.js';
import { signatureOf } from './signature.js';

export interface SignOptions {
  /** The address of a helper with its parameters: whole, or from its path on. */
  url: string;
  /** The key's id. */
  kid: string;
  /** The key's signing secret, `hgs_…`. */
  secret: string;
  /** When it ends, in whole seconds since 1970. */
  exp: number;
}

/** Days that a signed url may work: what is signed by mistake, or for a page that is forgotten, ends. Verifying knows no such bound. */
const longestDays = 366;

/** What is wrong with a url that is signed at `now` (ms) and works until `exp`, in seconds since 1970; undefined where nothing is. */
export function endProblem(exp: number, now: number): string | undefined {
  if (exp <= Math.ceil(now / 1000) + longestDays * 86_400) return undefined;
  const end = new Date(exp * 1000);
  const until = Number.isNaN(end.getTime()) ? exp : end.toISOString();
  return `would have the url work until ${until}; it may work for ${longestDays} days at most`;
}

/** Parameters that a url must not have before it is signed. */
const ownNames = ['ak', ...signatureParameters];

/**
 * Signs a url: the same one, as a browser would send it, with `kid`, `exp` and `sig` behind its parameters. Throws `invalid_input` on
 * the field `url` for one that could not be sent as it was signed, or that holds a key or a signature already.
 */
export function signUrl({ url, kid, secret, exp }: SignOptions): string {
  const { origin, path, query, values } = readUnsigned(url);
  const own = { kid, exp: String(exp) };
  const signed = new Map([...values, ...Object.entries(own)]);
  const sig = signatureOf(secret, { path, values: signed });
  return `${origin}${path}?${query === '' ? '' : `${query}&`}${new URLSearchParams({ ...own, sig })}`;
}

/** A url that is to be signed, in the parts that matter; `origin` is empty where it begins with its path. */
export interface Unsigned {
  origin: string;
  path: string;
  query: string;
  values: ReadonlyMap<string, string>;
}

/** Reads a url that is to be signed; throws as `signUrl` does. */
export function readUnsigned(text: string): Unsigned {
  const whole = !text.startsWith('/');
  const base = whole ? undefined : 'http://gateway';
  const url = tryUrl(text, base);
  // A path of two slashes is another host's.
  if (!url || (whole ? !/^https?:$/.test(url.protocol) : url.host !== 'gateway'))
    throw wrong('must be an address with http or https, or begin with the path of a helper such as /media/');
  if (url.username !== '' || url.password !== '') throw wrong('must not hold a user name or password');
  if (text.includes('#')) throw wrong('must not have a fragment; a # inside a parameter is written %23');
  // A trailing & would make an empty parameter, which says nothing.
  const query = url.search.slice(1).replace(/&+$/, '');
  const { values, problems } = parseUrlencoded(query);
  for (const name of ownNames)
    if (values.has(name)) throw wrong(`must not have the parameter ${name}: ${reason(name)}`);
  if (problems.length > 0)
    throw inputError(
      problems.map(({ field, problem }) => ({ field: 'url', problem: `has ${field}, which ${problem}` })),
    );
  return { origin: whole ? url.origin : '', path: url.pathname, query, values };
}

function reason(name: string): string {
  if (name === 'ak')
    return 'the signature takes the place of the key, and whoever reads the page would have it';
  return 'it is added when the url is signed';
}

function wrong(problem: string) {
  return inputError([{ field: 'url', problem }]);
}

/** What is wrong with the url of a helper that changes something elsewhere; it reads on from the name of what holds the url. */
export function takesNoSignature(service: string): string {
  return `names ${service}, which changes something elsewhere and takes POST alone; a signed url is for GET`;
}
