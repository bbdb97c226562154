/** Names that mean a place inside, so that no public resolver answers (RFC 6761, RFC 8375, RFC 9476, ICANN's `internal`). */
const insideSuffixes = ['localhost', 'local', 'internal', 'home.arpa', 'localdomain', 'onion', 'alt'];

/**
 * Why `name` can be refused without a look-up, or undefined. Pure; takes a host as the URL parser gives it (lower case,
 * punycode), with or without the root's trailing dot. It only spares look-ups and lets a dry run say so:
 * the address that a name leads to is judged all the same.
 */
export function judgeHostName(name: string): string | undefined {
  const labels = name.replace(/\.$/, '').split('.');
  if (labels.some((label) => label === '' || label.length > 63) || name.length > 254)
    return 'not a host name';
  // A resolver would complete a single label with the gateway's own search domain.
  if (labels.length === 1) return 'a name of one label';
  const suffix = insideSuffixes.find((inside) => `.${labels.join('.')}`.endsWith(`.${inside}`));
  return suffix && `a name under .${suffix}`;
}
