import type { QueryText } from '../../schemas/input/urlencoded.js';
import { signatureParameters } from '../../schemas/parameters/gateway-parameters.js';

/** What a signed url says of itself. */
export interface SignedQuery {
  /** The key's id, of which nothing is known yet. */
  kid: string;
  /** Whole seconds since 1970. */
  exp: number;
  sig: string;
}

const wholeSeconds = /^[1-9]\d{0,14}$/;
/** HMAC-SHA256 in base64url. */
const signature = /^[\w-]{43}$/;

/** Whether a query is meant to be a signed one: whatever its signature is, it is there. */
export function hasSignature({ values, problems }: QueryText): boolean {
  return values.has('sig') || problems.some(({ field }) => field === 'sig');
}

/** Whether a query has parts of a signature, but not the signature itself: it was cut off, or its name was changed. */
export function isHalfSigned({ values }: QueryText): boolean {
  return values.has('kid') || values.has('exp');
}

/**
 * The signature's own parameters; undefined where one is missing or could not be right, or where anything in the query could be read
 * in two ways (a parameter given twice, bytes that are no text).
 */
export function readSigned({ values, problems }: QueryText): SignedQuery | undefined {
  const [kid, exp = '', sig = ''] = signatureParameters.map((name) => values.get(name));
  if (problems.length > 0 || !kid || !wholeSeconds.test(exp) || !signature.test(sig)) return undefined;
  return { kid, exp: Number(exp), sig };
}
