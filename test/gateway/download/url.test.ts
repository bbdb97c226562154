import { expect } from 'chai';
import fc from 'fast-check';
import { parseExemptOrigins, parseSourceUrl } from '../../../gateway/download/url.js';
import { anyCharacter, words } from '../../examples.js';

const exempt = new Set(['http://127.0.0.1:9100', 'http://images.internal:8000', 'https://10.0.0.7']);
const parse = (raw: string, base?: string) => parseSourceUrl(raw, exempt, base ? new URL(base) : undefined);
const kindOf = (raw: string) => {
  const verdict = parse(raw);
  return verdict.ok ? (verdict.exempt ? 'exempt' : 'ok') : verdict.kind;
};

describe('parseSourceUrl', () => {
  const loopback = words`
    127.0.0.1 127.1 2130706433 0x7f000001 0x7f.1 0177.0.0.1 017700000001 127.0.0.1. 0 １２７.0.0.1 ①②⑦.⓪.⓪.①
    127。0。0。1 %31%32%37.0.0.1 [::1] [::] [::127.0.0.1] [::ffff:127.0.0.1] [::ffff:0:7f00:1]
    [64:ff9b::7f00:1] [0:0:0:0:0:0:0:1] 169.254.169.254 0xa9fea9fe [fd00:ec2::254] 100.100.100.200
    168.63.129.16
  `;
  const kinds: Record<string, string[]> = {
    ok: [
      ...words`
        https://example.com/photo.jpg HTTPS://EXAMPLE.COM https://example.com:443/a?b=c#d https://example.com./a
        https://8.8.8.8/a https://[2606:4700:4700::1111]/a https://example.com/user@host https://example.com/?u=a@b
      `,
      'https://bücher.example/ä b.png',
    ],
    exempt: words`
      http://127.0.0.1:9100/a.png http://0x7f.1:9100/ http://IMAGES.internal:8000/ https://10.0.0.7:443/a
    `,
    unparseable: [
      ...words`
        photo.jpg /photo.jpg //example.com/a https:// https://[::1 https://[fe80::1%25eth0]/ https://1.2.3.4.5/
        https://example.com:99999/
      `,
      ...[
        '',
        'https://exa mple.com',
        'https://exam\tple.com',
        'htt\nps://example.com',
        'https:\\\\example.com',
      ],
      ...[' ', '\u00a0'].map((space) => `${space}https://example.com`),
      ...[' ', '\n', '\\@127.0.0.1/'].map((end) => `https://example.com${end}`),
      ...['\r\nHost: a', '\u0000', '\u007f', '\u0085', 'a'.repeat(8192), 'ä'.repeat(1400)].map(
        (path) => `https://example.com/${path}`,
      ),
    ],
    refused: [
      ...words`
        http://example.com/ ftp://example.com/ file:///etc/passwd data:image/png;base64,AA== javascript:alert(1)
        gopher://example.com/ blob:https://example.com/1 ws://example.com https://example.com:80/
        https://example.com:8443/ https://user@example.com/ https://user:pass@example.com/
        https://:pass@example.com/ https://@example.com/ https:user@example.com/ https://localhost/
        https://LOCALHOST./ https://a.localhost/ https://intranet/ https://nas.local/
        https://metadata.google.internal/
        https://127.0.0.1:9100/ http://127.0.0.1:9101/ http://127.0.0.1/ http://127.0.0.2:9100/
        http://[::ffff:127.0.0.1]:9100/ http://user@127.0.0.1:9100/ http://images.internal.:8000/
        http://a.images.internal:8000/ http://10.0.0.7/ http://127.0.0.1:9100@10.0.0.1/
      `,
      ...loopback.map((host) => `https://${host}/`),
    ],
  };
  for (const [kind, urls] of Object.entries(kinds))
    for (const raw of urls)
      it(`calls ${JSON.stringify(raw.slice(0, 50))} ${kind}`, () => expect(kindOf(raw)).to.equal(kind));

  it('accepts a host of other letters, however many urls there were before', () => {
    const kinds = Array.from({ length: 50_000 }, () => kindOf('https://bücher.example/ä b.png'));
    expect([...new Set(kinds)]).to.deep.equal(['ok']);
  });

  it('resolves a relative redirect and checks the result', () => {
    const url = new URL('https://example.com/b?c');
    expect(parse('/b?c', 'https://example.com/a')).to.deep.include({ ok: true, url });
    expect(parse('//127.0.0.1/b', 'https://example.com/a')).to.include({ kind: 'refused' });
    expect(parse('\\\\127.0.0.1', 'https://example.com/a')).to.include({ kind: 'unparseable' });
  });

  it('never throws, and accepts nothing but https on 443 without user info or an exempt origin', () => {
    const part = fc.string({
      unit: fc.oneof(fc.constantFrom(...'aA0.-_~!$&*+,;=:@/?#%[]\\ '), anyCharacter),
    });
    const half = (text: fc.Arbitrary<string>) => fc.oneof(fc.constant(''), text);
    const v6 = fc.ipV6().map((address) => `[${address}]`);
    const url = fc
      .record({
        scheme: fc.constantFrom('https', 'HTTPS', 'http'),
        user: half(part.map((info) => `${info}@`)),
        host: fc.oneof(fc.domain(), fc.ipV4(), v6, part),
        port: half(fc.oneof(fc.constant(443), fc.nat(65_536)).map((port) => `:${port}`)),
        rest: half(part.map((path) => `/${path}`)),
      })
      .map(({ scheme, user, host, port, rest }) => `${scheme}://${user}${host}${port}${rest}`);
    fc.assert(
      fc.property(fc.oneof(url, fc.string({ unit: anyCharacter })), (text) => {
        const verdict = parse(text);
        if (!verdict.ok || verdict.exempt) return true;
        const { protocol, port, username, password } = verdict.url;
        return protocol === 'https:' && port === '' && username === '' && password === '';
      }),
      { numRuns: 1000 },
    );
  });
});

describe('parseExemptOrigins', () => {
  it('accepts exact origins and writes them as URL.origin does', () => {
    const list = words`http://127.0.0.1:9100 https://Images.Internal/ http://[::1]:80 https://a.example:443`;
    const origins = words`http://127.0.0.1:9100 https://images.internal http://[::1] https://a.example`;
    expect([...parseExemptOrigins(list)]).to.deep.equal(origins);
  });

  const bad = words`
    127.0.0.1:9100 http://*.internal http://a/b http://a?b http://a#b http://u:p@a http://u@a ftp://a file:///a null
    http://127.1 http://a\\b http://a:0080
  `;
  for (const entry of [...bad, '', 'http://a, http://b', ' http://a'])
    it(`throws for ${JSON.stringify(entry)} without repeating it`, () => {
      expect(() => parseExemptOrigins(['http://fine', entry])).to.throw(
        /^exempt origin 2 is not of the form/,
      );
    });
});
