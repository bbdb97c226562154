import { randomUUID } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { BlockList, isIP } from 'node:net';
import { performance } from 'node:perf_hooks';
import type { Context } from 'koa';
import { tryUrl } from '../../schemas/input/parse.js';

export interface RequestOutcome {
  /** 499, as in nginx, where the client went away before the end of the answer. */
  status: number;
  /** Milliseconds from the request line to the end of the answer. */
  ms: number;
  answered: boolean;
}

/** Gives a request its id, which the answer carries as `x-request-id`, and reports its outcome once. */
export function followRequest(
  ctx: Pick<Context, 'res' | 'set' | 'status'>,
  onEnd: (outcome: RequestOutcome) => void,
): string {
  const start = performance.now();
  const requestId = randomUUID();
  ctx.set('x-request-id', requestId);
  ctx.res.once('close', () => {
    const answered = ctx.res.writableFinished;
    onEnd({ status: answered ? ctx.status : 499, ms: performance.now() - start, answered });
  });
  return requestId;
}

/** A time as the log shows it: to a tenth of a millisecond. */
export function loggedMs(ms: number): number {
  return Math.round(ms * 10) / 10;
}

/** The token in an `Authorization` header; undefined where it holds none, or more than one (RFC 6750, 2.1). */
export function bearerToken(authorization: string): string | undefined {
  return /^Bearer +(\S+)$/i.exec(authorization)?.[1];
}

/** What nearly all clients send: there is nothing to change in it. */
const plainTarget = /^\/[\x21\x22\x24-\x7e]*$/;
const absoluteForm = /^https?:\/\/[^/?#]+/i;

/**
 * The path and query of a request target; undefined where it holds none. The host of the absolute form (RFC 9112,
 * 3.2.2) and a fragment are dropped, bytes percent-encoded. The result starts with `/` (or is `*`) and is printable
 * ASCII: Koa reads anything else with Node's legacy `url.parse`, which throws on some ports and finds no path after
 * `//a@b`.
 */
export function originForm(target: string): string | undefined {
  if (plainTarget.test(target)) return target;
  const origin = absoluteForm.exec(target)?.[0] ?? '';
  const [rest = ''] = target.slice(origin.length).split('#', 1);
  const path = origin !== '' && !rest.startsWith('/') ? `/${rest}` : rest;
  if (!path.startsWith('/') && path !== '*') return undefined;
  // Node gives each byte of the request line as one character.
  return path.replace(
    /[^\x21-\x7e]/g,
    (byte) => `%${byte.charCodeAt(0).toString(16).toUpperCase().padStart(2, '0')}`,
  );
}

/** HTTP/1.1 wants exactly one Host header; with two, a proxy and a server can be led to disagree (RFC 9112, 3.2). */
export function hasOneHost({ httpVersion, rawHeaders }: IncomingMessage): boolean {
  let hosts = 0;
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const name = rawHeaders[at] as string;
    if (name.length === 4 && name.toLowerCase() === 'host') hosts += 1;
  }
  return hosts === 1 || (hosts === 0 && httpVersion !== '1.1');
}

const loopbackAddresses = new BlockList();
loopbackAddresses.addSubnet('127.0.0.0', 8);
loopbackAddresses.addAddress('::1', 'ipv6');

/** Whether an address, as a socket gives it, is a loopback address, IPv4 embedded in IPv6 included. */
export function isLoopbackAddress(address: string): boolean {
  const version = isIP(address);
  return version !== 0 && loopbackAddresses.check(address, version === 6 ? 'ipv6' : 'ipv4');
}

/** Whether a host name, as `URL` gives it, is `localhost`, a name below it, or a loopback address. */
export function isLoopbackHost(hostname: string): boolean {
  const name = withoutBrackets(hostname);
  return name === 'localhost' || name.endsWith('.localhost') || isLoopbackAddress(name);
}

/** A host as `URL` gives it, with IPv6 addresses as a socket has them. */
export function withoutBrackets(hostname: string): string {
  return hostname.replace(/^\[(.*)\]$/, '$1');
}

/** Whether a Host header names this machine or the gateway's public address: a rebound page has its own name there. */
export function isOwnHost(host: string | undefined, apiUrl: string | undefined): boolean {
  if (host === undefined || /[/?#@]/.test(host)) return false;
  const name = tryUrl(`http://${host}`)?.hostname;
  if (name === undefined) return false;
  return isLoopbackHost(name) || (apiUrl !== undefined && name === new URL(apiUrl).hostname);
}
