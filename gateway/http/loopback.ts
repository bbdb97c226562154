import { BlockList, isIP } from 'node:net';
import { tryUrl } from '../../schemas/try-url.js';

const loopback = new BlockList();
loopback.addSubnet('127.0.0.0', 8);
loopback.addAddress('::1', 'ipv6');

/** Whether an address, as a socket gives it, is one by which a machine reaches itself; also where IPv6 embeds IPv4. */
export function isLoopbackAddress(address: string): boolean {
  const version = isIP(address);
  return version !== 0 && loopback.check(address, version === 6 ? 'ipv6' : 'ipv4');
}

/** Whether a host name, as `URL` gives it, is this machine's own: `localhost`, a name below it, or such an address. */
export function isLoopbackHost(hostname: string): boolean {
  const name = withoutBrackets(hostname);
  return name === 'localhost' || name.endsWith('.localhost') || isLoopbackAddress(name);
}

/** A host as `URL` gives it, with an address of IPv6 as a socket has it. */
export function withoutBrackets(hostname: string): string {
  return hostname.replace(/^\[(.*)\]$/, '$1');
}

/**
 * Whether a request asks for this machine itself, or for the address by which the operator says that the gateway is known. A page of a
 * stranger whose name is made to resolve to this machine (DNS rebinding) comes under that name.
 */
export function isOwnHost(host: string | undefined, apiUrl: string | undefined): boolean {
  if (host === undefined || /[/?#@]/.test(host)) return false;
  const name = tryUrl(`http://${host}`)?.hostname;
  if (name === undefined) return false;
  return isLoopbackHost(name) || (apiUrl !== undefined && name === new URL(apiUrl).hostname);
}
