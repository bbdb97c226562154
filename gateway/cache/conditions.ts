/** The field value of a strong entity tag. */
export function etagOf(tag: string): string {
  return `"${tag}"`;
}

const entityTags = /(?:W\/)?("[\x21\x23-\x7e\x80-\xff]*")/g;

/**
 * Whether `If-None-Match` names this entity tag, in its weak comparison (RFC 9110, 13.1.2): proxies that compress make tags weak.
 * `*` names none: it is asked by those who would write.
 */
export function isNamed(ifNoneMatch: string, etag: string): boolean {
  if (ifNoneMatch === '') return false;
  const strong = etag.replace(/^W\//, '');
  for (const [, named] of ifNoneMatch.matchAll(entityTags)) if (named === strong) return true;
  return false;
}

/**
 * How long others may keep an answer. That of a signed url, which is the same for whoever has the url, for as long as the url holds,
 * and at most `ttlSeconds`; that of a key, which is one customer's, not at all.
 */
export function cacheControl(
  { signedUntil }: { signedUntil?: number | undefined },
  { ttlSeconds, now }: { ttlSeconds: number; now: number },
): string {
  if (signedUntil === undefined) return 'private, no-store';
  const left = Math.floor(signedUntil - now / 1000);
  return `public, max-age=${Math.max(0, Math.min(ttlSeconds, left))}`;
}
