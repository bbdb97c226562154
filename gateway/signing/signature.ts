import { createHmac, timingSafeEqual } from 'node:crypto';
import { canonicalQuery } from './canonical.js';

/** What a signature is of: a path as it is sent, and the query's parameters, decoded. */
export interface Signed {
  path: string;
  values: ReadonlyMap<string, string>;
}

/** The text that is signed: `hg1`, the path and the canonical query, a line each. */
export function signedText({ path, values }: Signed): string {
  return `hg1\n${path}\n${canonicalQuery(values)}`;
}

/**
 * The signature of a call: base64url, without padding, of HMAC-SHA256 (RFC 2104) over its text. The key is the signing secret, the
 * whole `hgs_…` text in UTF-8.
 */
export function signatureOf(secret: string, signed: Signed): string {
  return hmac(secret, signedText(signed));
}

/** Whether a text is the signature by one of these secrets: as text, so that there is one way to write it. */
export function isSignedBy(secrets: readonly string[], text: string, signature: string): boolean {
  const given = Buffer.from(signature);
  let found = false;
  for (const secret of secrets) {
    const right = Buffer.from(hmac(secret, text));
    if (right.length === given.length && timingSafeEqual(right, given)) found = true;
  }
  return found;
}

function hmac(secret: string, text: string): string {
  return createHmac('sha256', secret).update(text).digest('base64url');
}
