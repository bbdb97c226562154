import { isIP } from 'node:net';
import ipaddr from 'ipaddr.js';

/**
 * IPv4 blocks that are not ordinary public unicast: the IANA IPv4 Special-Purpose Address Registry, multicast and where
 * clouds serve credentials. The few routed ones (AS112, AMT, anycast in 192.0.0.0/24) serve protocols, never pictures.
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

/** Blocks inside 2000::/3 that are not public unicast (IANA). Those that embed an IPv4 address are refused whole. */
export const refusedIpv6 = {
  '2001::/23': 'IETF protocol assignments: Teredo, benchmarking, AMT, ORCHID, DRIP (RFC 2928)',
  '2001:db8::/32': 'documentation (RFC 3849)',
  '2002::/16': '6to4 (RFC 3056)',
  '2620:4f:8000::/48': 'AS112 (RFC 7534)',
  '3ffe::/16': '6bone, returned (RFC 3701)',
  '3fff::/20': 'documentation (RFC 9637)',
} as const;

function parseBlocks<B>(refused: Record<string, string>, family: { parseCIDR(cidr: string): B }) {
  return Object.entries(refused).map(([cidr, reason]) => ({ block: family.parseCIDR(cidr), reason }));
}
const ipv4Blocks = parseBlocks(refusedIpv4, ipaddr.IPv4);
const ipv6Blocks = parseBlocks(refusedIpv6, ipaddr.IPv6);
const globalUnicast = ipaddr.IPv6.parseCIDR(globalUnicastIpv6);

/**
 * Why a download may not connect to `ip`, for the log alone; undefined for an address that everyone on the internet can
 * reach. Pure. Every spelling but the canonical one of URL parser, resolver and socket is refused, an IPv6 zone too.
 */
export function addressRefusal(ip: string): string | undefined {
  if (ip.includes('%')) return 'IPv6 zone';
  const version = isIP(ip);
  if (version === 0) return 'not an IP address';
  if (version === 4) {
    const ipv4 = ipaddr.IPv4.parse(ip);
    return ipv4Blocks.find(({ block }) => ipv4.match(block))?.reason;
  }
  const address = ipaddr.IPv6.parse(ip);
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

/** Names that mean a place inside, so that no public resolver answers (RFC 6761, RFC 8375, RFC 9476, ICANN's `internal`). */
const insideSuffixes = ['localhost', 'local', 'internal', 'home.arpa', 'localdomain', 'onion', 'alt'];

/** Why `name`, in lower case and punycode, can be refused without a look-up. Pure. Its address is checked too. */
export function hostNameRefusal(name: string): string | undefined {
  const labels = name.replace(/\.$/, '').split('.');
  if (labels.some((label) => label === '' || label.length > 63) || name.length > 254)
    return 'not a host name';
  // A resolver would complete a single label with the gateway's own search domain.
  if (labels.length === 1) return 'a name of one label';
  const suffix = insideSuffixes.find((inside) => `.${labels.join('.')}`.endsWith(`.${inside}`));
  return suffix && `a name under .${suffix}`;
}
