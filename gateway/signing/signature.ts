import { createHmac, timingSafeEqual } from 'node:crypto';
import { canonicalQuery } from './canonical.js';

/** What a signature is of: a path as it is sent, and the query's parameters, decoded. */
export interface Signed {
  path: string;
  values: ReadonlyMap<string, string>;
}

/**
 * The signature of a call: base64url, without padding, of HMAC-SHA256 (RFC 2104) over `hg1`, the path and the canonical query, a line
 * each. The key is the signing secret, the whole `hgs_…` text in UTF-8.
 */
export function signatureOf(secret: string, { path, values }: Signed): string {
  return createHmac('sha256', secret)
    .update(`hg1\n${path}\n${canonicalQuery(values)}`)
    .digest('base64url');
}

/** Whether a text is the signature by one of these secrets: as text, so that there is one way to write it. */
export function isSignedBy(secrets: readonly string[], signed: Signed, signature: string): boolean {
  const given = Buffer.from(signature);
  let found = false;
  for (const secret of secrets) {
    const right = Buffer.from(signatureOf(secret, signed));
    if (right.length === given.length && timingSafeEqual(right, given)) found = true;
  }
  return found;
}
