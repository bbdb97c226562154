import { isIP } from 'node:net';
import ipaddr from 'ipaddr.js';

/**
 * IPv4 blocks that are not ordinary public unicast: the IANA IPv4 Special-Purpose Address Registry, multicast and the
 * addresses where clouds serve credentials. The few routed blocks among them (AS112, AMT, anycast in 192.0.0.0/24) serve
 * protocols, never pictures.
 */
export const refusedIpv4 = {
  '0.0.0.0/8': 'this network (RFC 791)',
  '10.0.0.0/8': 'private (RFC 1918)',
  // Alibaba Cloud keeps its metadata at 100.100.100.200, inside this block.
  '100.64.0.0/10': 'carrier-grade NAT (RFC 6598)',
  '127.0.0.0/8': 'loopback (RFC 1122)',
  // Public by every registry, but inside Azure it is the host's agent.
  '168.63.129.16/32': 'Azure platform address',
  // 169.254.169.254 and its neighbours are the metadata services of nearly every cloud.
  '169.254.0.0/16': 'link-local (RFC 3927)',
  '172.16.0.0/12': 'private (RFC 1918)',
  // Oracle Cloud's metadata was at 192.0.0.192.
  '192.0.0.0/24': 'IETF protocol assignments (RFC 6890)',
  '192.0.2.0/24': 'documentation (RFC 5737)',
  '192.31.196.0/24': 'AS112 (RFC 7535)',
  '192.52.193.0/24': 'AMT (RFC 7450)',
  '192.88.99.0/24': '6to4 relay (RFC 7526)',
  '192.168.0.0/16': 'private (RFC 1918)',
  '192.175.48.0/24': 'AS112 (RFC 7534)',
  '198.18.0.0/15': 'benchmarking (RFC 2544)',
  '198.51.100.0/24': 'documentation (RFC 5737)',
  '203.0.113.0/24': 'documentation (RFC 5737)',
  '224.0.0.0/4': 'multicast (RFC 5771)',
  '240.0.0.0/4': 'reserved, and the limited broadcast (RFC 1112, RFC 919)',
} as const;

/** All IPv6 unicast that has ever been assigned; everything outside it is refused. */
const globalUnicastIpv6 = '2000::/3';

/**
 * Blocks inside 2000::/3 that are not ordinary public unicast (IANA IPv6 Special-Purpose Address Registry). Those that
 * embed an IPv4 address (6to4, Teredo) are refused whole: a relay decides what they reach.
 */
export const refusedIpv6 = {
  '2001::/23': 'IETF protocol assignments: Teredo, benchmarking, AMT, ORCHID, DRIP (RFC 2928)',
  '2001:db8::/32': 'documentation (RFC 3849)',
  '2002::/16': '6to4 (RFC 3056)',
  '2620:4f:8000::/48': 'AS112 (RFC 7534)',
  '3ffe::/16': '6bone, returned (RFC 3701)',
  '3fff::/20': 'documentation (RFC 9637)',
} as const;

/** `reason` is for the log; a client never sees it. */
type AddressVerdict = { public: true } | { public: false; reason: string };

type Blocks<Address> = readonly { block: [Address, number]; reason: string }[];

const ipv4Blocks: Blocks<ipaddr.IPv4> = Object.entries(refusedIpv4).map(([cidr, reason]) => ({
  block: ipaddr.IPv4.parseCIDR(cidr),
  reason,
}));
const ipv6Blocks: Blocks<ipaddr.IPv6> = Object.entries(refusedIpv6).map(([cidr, reason]) => ({
  block: ipaddr.IPv6.parseCIDR(cidr),
  reason,
}));
const globalUnicast = ipaddr.IPv6.parseCIDR(globalUnicastIpv6);

/**
 * Whether a download may connect to `ip`: only to an address that everyone on the internet can reach, so that the gateway lends
 * nobody its place in a network. Pure. Expects the canonical forms that the URL parser, a resolver and a socket give (dotted
 * quad; IPv6 without brackets); every other spelling, and an IPv6 zone, is refused.
 */
export function addressVerdict(ip: string): AddressVerdict {
  if (ip.includes('%')) return refused('IPv6 zone');
  const version = isIP(ip);
  if (version === 0) return refused('not an IP address');
  const reason = version === 4 ? ipv4Refusal(ipaddr.IPv4.parse(ip)) : ipv6Refusal(ipaddr.IPv6.parse(ip));
  return reason === undefined ? { public: true } : refused(reason);
}

function ipv4Refusal(address: ipaddr.IPv4): string | undefined {
  return ipv4Blocks.find(({ block }) => address.match(block))?.reason;
}

function ipv6Refusal(address: ipaddr.IPv6): string | undefined {
  // Loopback, link-local, ULA, IPv4-mapped, IPv4-compatible, SIIT and the NAT64 prefixes all lie outside 2000::/3.
  if (!address.match(globalUnicast)) return 'not global unicast (RFC 4291)';
  const hit = ipv6Blocks.find(({ block }) => address.match(block));
  return hit?.reason ?? (isIsatap(address) ? 'ISATAP (RFC 5214)' : undefined);
}

/** ISATAP tunnels to the IPv4 address in the last 32 bits, under any prefix: interface identifier `[02]00:5efe:a.b.c.d`. */
function isIsatap({ parts }: ipaddr.IPv6): boolean {
  const universalAndGroupBits = 0x0300;
  return parts[5] === 0x5efe && ((parts[4] ?? 0) & ~universalAndGroupBits) === 0;
}

function refused(reason: string): AddressVerdict {
  return { public: false, reason };
}

/** Names that mean a place inside, so that no public resolver answers (RFC 6761, RFC 8375, RFC 9476, ICANN's `internal`). */
const insideSuffixes = ['localhost', 'local', 'internal', 'home.arpa', 'localdomain', 'onion', 'alt'];

/**
 * Why `name` can be refused without a look-up, or undefined. Pure; expects a host as the URL parser gives it (lower case,
 * punycode). It saves look-ups and lets a dry run refuse: the address that a name leads to is checked all the same.
 */
export function hostNameRefusal(name: string): string | undefined {
  const labels = name.replace(/\.$/, '').split('.');
  if (labels.some((label) => label === '' || label.length > 63) || name.length > 254)
    return 'not a host name';
  // A resolver would complete a single label with the gateway's own search domain.
  if (labels.length === 1) return 'a name of one label';
  const suffix = insideSuffixes.find((inside) => `.${labels.join('.')}`.endsWith(`.${inside}`));
  return suffix && `a name under .${suffix}`;
}
