import { createHmac } from 'node:crypto';

/** Signs the address of a helper with its parameters; it works until `expires`, in Unix seconds. */
export function signUrl(address, keyId, secret, expires) {
  const [, base, path, query] = /^((?:https?:\/\/[^/?]+)?([^?]*))(\?.*)?$/is.exec(address);
  const hex = (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`;
  const encode = (text) => encodeURIComponent(text).replace(/[!'()*]/g, hex);
  const canonical = [...new URLSearchParams(query), ['kid', keyId], ['exp', expires]]
    .map((pair) => pair.map(encode))
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map((pair) => pair.join('='))
    .join('&');
  const hmac = createHmac('sha256', secret).update(`hg1\n${path}\n${canonical}`);
  return `${base}?${canonical}&sig=${hmac.digest('base64url')}`;
}
