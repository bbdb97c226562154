import { expect } from 'chai';
import fc from 'fast-check';
import { hostOf, parseExemptOrigins, parseSourceUrl } from '../../../gateway/download/url.js';
import { anyCharacter, words } from '../../examples.js';

const exempt = new Set(['http://127.0.0.1:9100', 'http://images.internal:8000', 'https://10.0.0.7']);
const parse = (raw: string, base?: string) => parseSourceUrl(raw, exempt, base ? new URL(base) : undefined);
const kindOf = (raw: string) => {
  const verdict = parse(raw);
  return verdict.ok ? 'ok' : verdict.kind;
};

describe('parseSourceUrl', () => {
  const allowed = [
    'https://example.com/photo.jpg',
    'HTTPS://EXAMPLE.COM',
    'https://example.com:443/a?b=c#d',
    'https://example.com./a',
    'https://8.8.8.8/a',
    'https://[2606:4700:4700::1111]/a',
    'https://bücher.example/ä b.png',
    'https://example.com/user@host',
    'https://example.com/?u=a@b',
  ];
  for (const raw of allowed) {
    it(`takes ${raw}`, () => expect(parse(raw)).to.include({ ok: true, exempt: false }));
  }

  it('takes a host of other letters, however many urls there were before', () => {
    const outcomes = new Set(
      Array.from({ length: 50_000 }, () => parse('https://bücher.example/ä b.png').ok),
    );
    expect([...outcomes]).to.deep.equal([true]);
  });

  const unparseable = [
    '',
    'photo.jpg',
    '/photo.jpg',
    '//example.com/a',
    'https://',
    'https://exa mple.com',
    'https://[::1',
    'https://[fe80::1%25eth0]/',
    'https://1.2.3.4.5/',
    'https://example.com:99999/',
    ' https://example.com',
    'https://example.com ',
    'https://example.com\n',
    '\u00a0https://example.com',
    'https://exam\tple.com',
    'htt\nps://example.com',
    'https://example.com/\r\nHost: a',
    'https:\\\\example.com',
    'https://example.com\\@127.0.0.1/',
    'https://example.com/\u0000',
    'https://example.com/\u007f',
    'https://example.com/\u0085',
    `https://example.com/${'a'.repeat(8192)}`,
    `https://example.com/${'ä'.repeat(1400)}`,
  ];
  for (const raw of unparseable) {
    it(`calls ${JSON.stringify(raw.slice(0, 50))} unparseable`, () =>
      expect(kindOf(raw)).to.equal('unparseable'));
  }

  const refused = words`
    http://example.com/ ftp://example.com/ file:///etc/passwd data:image/png;base64,AA== javascript:alert(1)
    gopher://example.com/ blob:https://example.com/1 ws://example.com https://example.com:80/
    https://example.com:8443/ https://user@example.com/ https://user:pass@example.com/
    https://:pass@example.com/ https://@example.com/ https:user@example.com/ https://localhost/
    https://LOCALHOST./ https://a.localhost/ https://intranet/ https://nas.local/
    https://metadata.google.internal/
  `;
  const loopback = words`
    127.0.0.1 127.1 2130706433 0x7f000001 0x7f.1 0177.0.0.1 017700000001 127.0.0.1. 0 １２７.0.0.1 ①②⑦.⓪.⓪.①
    127。0。0。1 %31%32%37.0.0.1 [::1] [::] [::127.0.0.1] [::ffff:127.0.0.1] [::ffff:0:7f00:1]
    [64:ff9b::7f00:1] [0:0:0:0:0:0:0:1] 169.254.169.254 0xa9fea9fe [fd00:ec2::254] 100.100.100.200
    168.63.129.16
  `;
  for (const raw of [...refused, ...loopback.map((host) => `https://${host}/`)]) {
    it(`refuses ${raw}`, () => expect(kindOf(raw)).to.equal('refused'));
  }

  for (const raw of [
    'http://127.0.0.1:9100/a.png',
    'http://0x7f.1:9100/',
    'http://IMAGES.internal:8000/',
    'https://10.0.0.7:443/a',
  ]) {
    it(`exempts ${raw}`, () => expect(parse(raw)).to.include({ ok: true, exempt: true }));
  }

  for (const raw of [
    'https://127.0.0.1:9100/',
    'http://127.0.0.1:9101/',
    'http://127.0.0.1/',
    'http://127.0.0.2:9100/',
    'http://[::ffff:127.0.0.1]:9100/',
    'http://user@127.0.0.1:9100/',
    'http://images.internal.:8000/',
    'http://a.images.internal:8000/',
    'http://10.0.0.7/',
    'http://127.0.0.1:9100@10.0.0.1/',
  ]) {
    it(`does not exempt ${raw}`, () => expect(kindOf(raw)).to.equal('refused'));
  }

  it('resolves a relative redirect and judges the result', () => {
    expect(parse('/b?c', 'https://example.com/a')).to.deep.include({
      ok: true,
      url: new URL('https://example.com/b?c'),
    });
    expect(parse('//127.0.0.1/b', 'https://example.com/a')).to.include({ kind: 'refused' });
    expect(parse('\\\\127.0.0.1', 'https://example.com/a')).to.include({ kind: 'unparseable' });
  });

  it('names a host without brackets and without the trailing dot', () => {
    const hosts = ['https://[2606:4700::1]/', 'https://example.com./', 'https://8.8.8.8/'].map((raw) =>
      hostOf(new URL(raw)),
    );
    expect(hosts).to.deep.equal(['2606:4700::1', 'example.com', '8.8.8.8']);
  });

  it('never throws, and takes nothing but https on 443 without user info or an exempt origin', () => {
    const part = fc.string({
      unit: fc.oneof(fc.constantFrom(...'aA0.-_~!$&*+,;=:@/?#%[]\\ '), anyCharacter),
    });
    const host = fc.oneof(
      fc.domain(),
      fc.ipV4(),
      fc.ipV6().map((address) => `[${address}]`),
      part,
    );
    const half = (text: fc.Arbitrary<string>) => fc.oneof(fc.constant(''), text);
    const url = fc
      .record({
        scheme: fc.constantFrom('https', 'HTTPS', 'http'),
        user: half(part.map((info) => `${info}@`)),
        host,
        port: half(fc.oneof(fc.constant(443), fc.nat(65_536)).map((port) => `:${port}`)),
        rest: half(part.map((path) => `/${path}`)),
      })
      .map(({ scheme, user, host, port, rest }) => `${scheme}://${user}${host}${port}${rest}`);
    const raw = fc.oneof(url, fc.string({ unit: anyCharacter }));
    fc.assert(
      fc.property(raw, (text) => {
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
  it('takes exact origins and writes them as URL.origin does', () => {
    const list = [
      'http://127.0.0.1:9100',
      'https://Images.Internal/',
      'http://[::1]:80',
      'https://a.example:443',
    ];
    const origins = ['http://127.0.0.1:9100', 'https://images.internal', 'http://[::1]', 'https://a.example'];
    expect([...parseExemptOrigins(list)]).to.deep.equal(origins);
  });

  const bad = [
    '',
    '127.0.0.1:9100',
    'http://*.internal',
    'http://a/b',
    'http://a?b',
    'http://a#b',
    'http://u:p@a',
    'http://u@a',
    'ftp://a',
    'file:///a',
    'null',
    'http://a, http://b',
    ' http://a',
    'http://127.1',
    'http://a\\b',
    'http://a:0080',
  ];
  for (const entry of bad) {
    it(`throws for ${JSON.stringify(entry)} without repeating it`, () => {
      expect(() => parseExemptOrigins(['http://fine', entry])).to.throw(
        /^exempt origin 2 is not of the form/,
      );
    });
  }
});
