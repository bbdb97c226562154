import { expect } from 'chai';
import fc from 'fast-check';
import ipaddr from 'ipaddr.js';
import {
  addressRefusal,
  hostNameRefusal,
  refusedIpv4,
  refusedIpv6,
} from '../../../gateway/download/address.js';
import { anyCharacter, words } from '../../examples.js';

const isPublic = (ip: string) => addressRefusal(ip) === undefined;

/** Any address of a block: its network bits, and whatever bits follow. */
function addressIn(cidr: string): fc.Arbitrary<number[]> {
  const [network, prefix] = ipaddr.parseCIDR(cidr);
  const bytes = network.toByteArray();
  return fc.uint8Array({ minLength: bytes.length, maxLength: bytes.length }).map((random) =>
    bytes.map((byte, index) => {
      const fixed = Math.min(8, Math.max(0, prefix - index * 8));
      const mask = (0xff << (8 - fixed)) & 0xff;
      return (byte & mask) | ((random[index] ?? 0) & ~mask & 0xff);
    }),
  );
}

const anyOf = (cidrs: string[]) => fc.oneof(...cidrs.map(addressIn));
const refusedV4 = anyOf(Object.keys(refusedIpv4));
const dotted = (bytes: number[]) => bytes.join('.');

/** Every way to write the same 16 bytes that the platform reads as an IPv6 address. */
function spellings(bytes: number[]): string[] {
  const address = ipaddr.fromByteArray(bytes) as ipaddr.IPv6;
  const padded = address.parts.map((part) => part.toString(16).padStart(4, '0')).join(':');
  const head = address.parts.slice(0, 6).map((part) => part.toString(16));
  return [
    address.toNormalizedString(),
    padded,
    address.toRFC5952String(),
    padded.toUpperCase(),
    `${head.join(':')}:${dotted(bytes.slice(12))}`,
  ];
}

describe('addressRefusal', () => {
  it('accepts ordinary addresses, up to the edges of the blocks', () => {
    const ordinary = words`
      1.1.1.1 8.8.8.8 93.184.216.34 100.63.255.255 100.128.0.0 168.63.129.15 172.15.255.255 172.32.0.0
      191.255.255.255 192.0.1.0 198.17.255.255 198.20.0.0 223.255.255.255 2606:4700:4700::1111
      2a00:1450:4001:830::200e 2001:200::1 2001:4860:4860::8888 2400::1 3ffd::1
    `;
    expect(ordinary.filter((ip) => !isPublic(ip))).to.deep.equal([]);
  });

  it('refuses addresses inside, and what is no plain address', () => {
    const inside = words`
      0.0.0.0 10.0.0.1 100.100.100.200 127.0.0.1 127.255.255.255 168.63.129.16 169.254.169.254 169.254.170.2
      172.16.0.1 172.31.255.255 192.0.0.192 192.168.1.1 198.19.255.255 224.0.0.1 240.0.0.1 255.255.255.255 ::
      ::1 ::7f00:1 ::ffff:127.0.0.1 ::ffff:7f00:1 ::ffff:0:127.0.0.1 ::ffff:8.8.8.8 64:ff9b::7f00:1
      64:ff9b::808:808 64:ff9b:1::a00:1 100::1 100:0:0:1::1 2001::1 2001:0:4136:e378:8000:63bf:3fff:fdd2
      2001:2::1 2001:10::1 2001:20::1 2001:1ff::1 2001:db8::1 2002:7f00:1:: 2002:808:808::1 2620:4f:8000::1
      3fff::1 3fff:fff::1 4000::1 5f00::1 fc00::1 fd00:ec2::254 fd20:ce::254 fe80::1 fe80::a9fe:a9fe febf::1
      fec0::1 ff02::1 2606:4700::5efe:127.0.0.1 2606:4700::200:5efe:10.0.0.1 2606:4700:0:0:100:5efe:a00:1
    `;
    const none = words`
      localhost 127.1 2130706433 0x7f.0.0.1 0177.0.0.1 1.1.1.01 １.1.1.1 1.1.1.1. [2606:4700::1]
      2606:4700::1%eth0 2606:4700::1% fe80::1%1 1.1.1.1/8
    `;
    expect([...inside, ...none, '', ' 1.1.1.1', '1.1.1.1\n'].filter(isPublic)).to.deep.equal([]);
  });

  it('refuses every address of every listed IPv4 block', () => {
    fc.assert(
      fc.property(refusedV4, (bytes) => !isPublic(dotted(bytes))),
      { numRuns: 2000 },
    );
  });

  it('refuses every address of every listed IPv6 block, however it is spelt', () => {
    const blocks = [...Object.keys(refusedIpv6), '::/3', '4000::/2', '8000::/1'];
    const property = fc.property(anyOf(blocks), (bytes) => spellings(bytes).every((ip) => !isPublic(ip)));
    fc.assert(property, { numRuns: 2000 });
  });

  const embeddings: Record<string, (v4: number[]) => number[]> = {
    'IPv4-compatible': (v4) => [...Array(12).fill(0), ...v4],
    'IPv4-mapped': (v4) => [...Array(10).fill(0), 255, 255, ...v4],
    SIIT: (v4) => [...Array(8).fill(0), 255, 255, 0, 0, ...v4],
    NAT64: (v4) => [0, 0x64, 0xff, 0x9b, ...Array(8).fill(0), ...v4],
    'local NAT64': (v4) => [0, 0x64, 0xff, 0x9b, 0, 1, ...Array(6).fill(0), ...v4],
    '6to4': (v4) => [0x20, 0x02, ...v4, ...Array(10).fill(0)],
    Teredo: (v4) => [0x20, 0x01, 0, 0, ...Array(8).fill(1), ...v4.map((byte) => byte ^ 255)],
    ISATAP: (v4) => [0x26, 0x06, 0x47, 0, 0, 0, 0, 0, 0, 0, 0x5e, 0xfe, ...v4],
    'ISATAP with the universal bit': (v4) => [0x26, 0x06, 0x47, 0, 0, 0, 0, 0, 2, 0, 0x5e, 0xfe, ...v4],
  };
  for (const [name, embed] of Object.entries(embeddings))
    it(`refuses a refused IPv4 address inside ${name}`, () =>
      fc.assert(fc.property(refusedV4, (v4) => spellings(embed(v4)).every((ip) => !isPublic(ip)))));

  it('agrees with ipaddr.js that what it accepts is unicast', () => {
    const any = fc.oneof(anyOf(['0.0.0.0/0']), anyOf(['::/0', '2000::/3']));
    fc.assert(
      fc.property(any, (bytes) => {
        const address = ipaddr.fromByteArray(bytes);
        return !isPublic(address.toString()) || address.range() === 'unicast';
      }),
      { numRuns: 5000 },
    );
  });

  it('never throws, whatever the text', () => {
    fc.assert(fc.property(fc.string({ unit: anyCharacter }), (text) => typeof isPublic(text) === 'boolean'));
  });
});

describe('hostNameRefusal', () => {
  it('refuses names inside, of one label, or that are none', () => {
    const inside = words`
      localhost localhost. a.localhost a.localhost. printer.local metadata.google.internal
      metadata.google.internal. nas.home.arpa a.onion a.alt localhost.localdomain intranet com com. a..b .a.b a.b..
    `;
    const long = [`${'a'.repeat(64)}.com`, `${'a.'.repeat(140)}com`];
    const accepted = [...inside, ...long].filter((name) => hostNameRefusal(name) === undefined);
    expect(accepted).to.deep.equal([]);
  });

  it('leaves others to their addresses', () => {
    const outside = words`
      example.com example.com. notlocalhost.com local.example.com mylocal.org arpa.com xn--bcher-kva.example
    `;
    expect(outside.map(hostNameRefusal).filter(Boolean)).to.deep.equal([]);
  });
});
