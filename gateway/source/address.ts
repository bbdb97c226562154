import { isIP } from 'node:net';
import ipaddr from 'ipaddr.js';
import { globalUnicastIpv6, refusedIpv4, refusedIpv6 } from './special-ranges.js';

/** `reason` is for the log; a client is never told why. */
export type AddressVerdict = { public: true } | { public: false; reason: string };

const ipv4Blocks = Object.entries(refusedIpv4).map(([cidr, reason]) => ({
  block: ipaddr.IPv4.parseCIDR(cidr),
  reason,
}));
const ipv6Blocks = Object.entries(refusedIpv6).map(([cidr, reason]) => ({
  block: ipaddr.IPv6.parseCIDR(cidr),
  reason,
}));
const globalUnicast = ipaddr.IPv6.parseCIDR(globalUnicastIpv6);

/**
 * Whether a download may connect to `ip`: only an address that is reachable by everyone on the internet is public, so
 * that the gateway lends nobody its place in a network. Pure. Takes the canonical forms that the URL parser, a resolver
 * and a socket give (dotted quad; IPv6 without brackets); every other spelling, and an IPv6 zone, is refused, not guessed at.
 */
export function judgeAddress(ip: string): AddressVerdict {
  if (ip.includes('%')) return refused('IPv6 zone');
  const version = isIP(ip);
  if (version === 4) return judgeIpv4(ipaddr.IPv4.parse(ip));
  if (version === 6) return judgeIpv6(ipaddr.IPv6.parse(ip));
  return refused('not an IP address');
}

function judgeIpv4(address: ipaddr.IPv4): AddressVerdict {
  const hit = ipv4Blocks.find(({ block }) => address.match(block));
  return hit ? refused(hit.reason) : { public: true };
}

function judgeIpv6(address: ipaddr.IPv6): AddressVerdict {
  // Loopback, link-local, ULA, IPv4-mapped, IPv4-compatible, SIIT and the NAT64 prefixes all lie outside 2000::/3.
  if (!address.match(globalUnicast)) return refused('not global unicast (RFC 4291)');
  const hit = ipv6Blocks.find(({ block }) => address.match(block));
  if (hit) return refused(hit.reason);
  if (isIsatap(address)) return refused('ISATAP (RFC 5214)');
  return { public: true };
}

/** ISATAP tunnels to the IPv4 address in the last 32 bits, under any prefix: interface identifier `[02]00:5efe:a.b.c.d`. */
function isIsatap({ parts }: ipaddr.IPv6): boolean {
  const universalAndGroupBits = 0x0300;
  return parts[5] === 0x5efe && ((parts[4] ?? 0) & ~universalAndGroupBits) === 0;
}

function refused(reason: string): AddressVerdict {
  return { public: false, reason };
}
