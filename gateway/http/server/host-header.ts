import type { IncomingMessage } from 'node:http';

/** HTTP/1.1 wants exactly one Host header; two are how a proxy and a server are led to disagree (RFC 9112, 3.2). */
export function hasOneHost({ httpVersion, rawHeaders }: IncomingMessage): boolean {
  const hosts = rawHeaders.filter((text, at) => at % 2 === 0 && text.toLowerCase() === 'host').length;
  return hosts === 1 || (hosts === 0 && httpVersion !== '1.1');
}
