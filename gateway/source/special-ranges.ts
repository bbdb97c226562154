/**
 * IPv4 blocks that are not ordinary public unicast: the IANA IPv4 Special-Purpose Address Registry, multicast and the
 * addresses at which clouds serve credentials. The few blocks in it that are routed (AS112, AMT, the 192.0.0.0/24 anycast
 * addresses) serve protocols, never pictures.
 */
export const refusedIpv4 = {
  '0.0.0.0/8': 'this network (RFC 791)',
  '10.0.0.0/8': 'private (RFC 1918)',
  // Alibaba Cloud keeps its metadata at 100.100.100.200, inside this block.
  '100.64.0.0/10': 'carrier-grade NAT (RFC 6598)',
  '127.0.0.0/8': 'loopback (RFC 1122)',
  // To every registry an ordinary public address, but inside Azure it is the host's agent.
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

/** All IPv6 unicast that has ever been given out; whatever lies outside it is refused without a table. */
export const globalUnicastIpv6 = '2000::/3';

/**
 * Blocks inside 2000::/3 that are not ordinary public unicast (IANA IPv6 Special-Purpose Address Registry). Those that
 * embed an IPv4 address (6to4, Teredo) are refused whole: what they reach is decided by a relay, not by this table.
 */
export const refusedIpv6 = {
  '2001::/23': 'IETF protocol assignments: Teredo, benchmarking, AMT, ORCHID, DRIP (RFC 2928)',
  '2001:db8::/32': 'documentation (RFC 3849)',
  '2002::/16': '6to4 (RFC 3056)',
  '2620:4f:8000::/48': 'AS112 (RFC 7534)',
  '3ffe::/16': '6bone, returned (RFC 3701)',
  '3fff::/20': 'documentation (RFC 9637)',
} as const;
