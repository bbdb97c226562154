/** The parameter that holds the signature, and is the only one that is not signed. */
export const signatureParameter = 'sig';

/**
 * The canonical query of AWS Signature Version 4: every parameter but the signature, name and value (decoded already) written by
 * RFC 3986, where only `A-Za-z0-9-._~` stay, and sorted by name. Whoever re-encodes or reorders a query leaves it as it is. Throws a
 * `URIError` for half a surrogate pair, which no query decodes to.
 */
export function canonicalQuery(values: ReadonlyMap<string, string>): string {
  const pairs = [...values]
    .filter(([name]) => name !== signatureParameter)
    .map(([name, value]): [string, string] => [percentEncode(name), percentEncode(value)]);
  // By their bytes, for what is encoded is ASCII; no name comes twice.
  pairs.sort(([a], [b]) => (a < b ? -1 : 1));
  return pairs.map(([name, value]) => `${name}=${value}`).join('&');
}

/** A text by RFC 3986. JavaScript's own leaves five characters that are to be encoded. */
export function percentEncode(text: string): string {
  return encodeURIComponent(text).replace(
    /[!'()*]/g,
    (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`,
  );
}
