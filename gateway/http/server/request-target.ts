/** What nearly all send: there is nothing to change in it. */
const plain = /^\/[\x21\x22\x24-\x7e]*$/;

const absoluteForm = /^https?:\/\/[^/?#]+/i;

/**
 * The path and query of a request line's target, or undefined where it holds none. Proxies send the absolute form
 * (RFC 9112, 3.2.2), whose host means nothing here; a fragment is no part of a request; bytes that should have been
 * percent-encoded are. What is left always begins with `/` (or is `*`) and is printable ASCII: Koa reads anything else
 * with Node's legacy `url.parse`, which throws on some ports and finds no path in some hosts, also after `//a@b`.
 */
export function originForm(target: string): string | undefined {
  if (plain.test(target)) return target;
  const origin = absoluteForm.exec(target)?.[0] ?? '';
  const [rest = ''] = target.slice(origin.length).split('#', 1);
  const path = origin !== '' && !rest.startsWith('/') ? `/${rest}` : rest;
  if (!path.startsWith('/') && path !== '*') return undefined;
  return path.replace(/[^\x21-\x7e]/g, percentEncode);
}

/** Node gives each byte of the request line as one character. */
function percentEncode(character: string): string {
  return `%${character.charCodeAt(0).toString(16).toUpperCase().padStart(2, '0')}`;
}
