import { expect } from 'chai';
import fc from 'fast-check';
import { noKeyLimits, noLimits } from '../../../gateway/keys/model.js';
import type { ActiveKey, KeyVerifier } from '../../../gateway/keys/verifier.js';
import { authenticate, authenticateSigned } from '../../../gateway/pipeline/authenticate.js';
import type { HttpCall } from '../../../gateway/pipeline/stage.js';
import { canonicalQuery, isSignedBy, signedText, signUrl } from '../../../gateway/signing/signed-url.js';
import type { FieldProblem } from '../../../schemas/field-problem.js';
import { parseUrlencoded } from '../../../schemas/input/parse.js';
import { signing, vectors } from './signing.js';
import { changes, drawFrom, meaningOf, rewritings } from './tamper.js';

const given = { kid: 'key_one', secret: signing.current('key_one', 1), exp: 2_000_000_000 };

describe('signing a url', () => {
  it('appends the key’s id, the end and the signature to what a browser would send', () => {
    const tail = /&kid=key_one&exp=2000000000&sig=[\w-]{43}$/;
    const url = 'https://pictures.example.com/media/add-border?url=https://e.com/a b.jpg&color=dusty+rose';
    const signed = signUrl({ ...given, url });
    expect(signed).to.match(tail).and.equal(new URL(signed).href);
    expect(signed.replace(tail, '')).to.equal(url.replace(' ', '%20'));
    expect(signUrl({ ...given, url: '/text/a' }).replace(tail, '')).to.match(/^\/text\/a\?kid=/);
  });

  it('gives one signature to a url whole and from its path on, however it is written', () => {
    const written = [
      '/a?b=1+2&c=%C3%A4',
      'https://h/a?c=%c3%a4&b=1%202',
      'http://h:81/x/../a?c=ä&b=1 2&',
      '/a?&c=ä&b=1%202',
    ];
    expect(new Set(written.map((url) => signUrl({ ...given, url }).split('&sig=')[1])).size).to.equal(1);
  });

  for (const [url, problem] of [
    ['/a?ak=hg_x', 'must not have the parameter ak'],
    ['/a?kid=key_x', 'must not have the parameter kid'],
    ['/a?exp=1', 'must not have the parameter exp'],
    ['/a?s=1&sig=', 'must not have the parameter sig'],
    ['/a?b=1&b=2', 'has b, which must be given once'],
    ['/a?b=%ff', 'has b, which must be percent-encoded'],
    ['/a#b', 'must not have a fragment'],
    ['/a?color=#fff', 'is written %23'],
    ['https://user:pw@host/a', 'must not hold a user name'],
    ['//host/a', 'begin with the path'],
    ['/\\host/a', 'begin with the path'],
    ['ftp://host/a', 'must be an address with http or https'],
    ['media/add-border', 'must be an address with http or https'],
    ['', 'must be an address with http or https'],
  ] as const) {
    it(`refuses ${JSON.stringify(url)}`, () => {
      expect(() => signUrl({ ...given, url }))
        .to.throw()
        .with.nested.property('details[0]')
        .that.satisfies((each: FieldProblem) => each.field === 'url' && each.problem.includes(problem));
    });
  }
});

/** The parameters of a url, as the gateway reads them. */
function read(url: string): Map<string, string> {
  const { values, problems } = parseUrlencoded(url.slice(url.indexOf('?') + 1));
  expect(problems).to.deep.equal([]);
  return values;
}

describe('the test vectors of signed urls', () => {
  for (const { about, secret, signature, url, ...vector } of vectors) {
    it(`hold for what verifies, and for what signs: ${about}`, () => {
      const values = new Map(Object.entries(vector.parameters));
      expect(canonicalQuery(values)).to.equal(vector.canonical_query);
      const signed = signUrl({ url: vector.address, kid: vector.key_id, secret, exp: vector.expires });
      expect(signed.split('?')[0]).to.equal(url.split('?')[0]);
      for (const each of [url, signed])
        expect(read(each)).to.deep.equal(new Map([...values, ['sig', signature]]));
      const text = signedText({ path: vector.path, values: read(url) });
      expect(isSignedBy([secret], text, signature)).to.equal(true);
      expect(isSignedBy([secret.toUpperCase()], text, signature)).to.equal(false);
    });
  }
});

describe('a signed url', () => {
  const versions: Record<string, number> = { key_one: 1, key_other: 3 };
  const tenant: ActiveKey['tenant'] = { id: 'ten_1', name: 'acme', limits: noLimits, weight: 1 };
  const keys: Pick<KeyVerifier, 'verify' | 'verifySigned'> = {
    verify: async () => ({ state: 'unknown' }),
    async verifySigned(id, isSigned) {
      const version = versions[id];
      if (version === undefined || !isSigned(version)) return { state: 'unknown' };
      return { state: 'active', tenant, key: { id, label: null, scopes: null, limits: noKeyLimits } };
    },
  };
  const now = () => (given.exp - 1) * 1000;
  const stage = authenticate(keys, authenticateSigned(keys, signing, now));

  /** The code that a GET of this url ends with, or `passed`. */
  async function outcome(url: string): Promise<string> {
    const at = url.indexOf('?');
    const [path, querystring] = at < 0 ? [url, ''] : [url.slice(0, at), url.slice(at + 1)];
    const ctx = { method: 'GET', path, querystring, headers: {}, state: {}, get: () => '' };
    const call = { ctx, state: {}, bodyBytes: 0 } as unknown as HttpCall;
    try {
      await stage(call, async () => ({ kind: 'data', text: '' }) as never);
      return 'passed';
    } catch (error) {
      return (error as { code: string }).code;
    }
  }

  const names = fc.oneof(
    fc.constantFrom('url', 'color', 'text', 'a', 'A', 'kid2', 'expires', 'sigs'),
    fc.string({ unit: 'grapheme', minLength: 1, maxLength: 5 }),
  );
  const values = fc.oneof(
    fc.constantFrom(
      'https://example.com/a b.jpg?x=1&y=2',
      'rgb(1 2 3)',
      '5%',
      '',
      "it's (a) *!~",
      'a+b',
      '%41',
    ),
    fc.string({ unit: 'grapheme', maxLength: 12 }),
  );
  const signedUrls = fc
    .tuple(
      fc.constantFrom('/media/add-border', '/img/add-border', '/text/diff-two-strings'),
      fc.uniqueArray(fc.tuple(names, values), { maxLength: 5, selector: ([name]) => name }),
    )
    .filter(([, pairs]) => pairs.every(([name]) => !['ak', 'kid', 'exp', 'sig'].includes(name)))
    .map(([path, pairs]) => {
      const query = pairs.map((pair) => pair.map(encodeURIComponent).join('=')).join('&');
      return signUrl({ ...given, url: `${path}?${query}` });
    });

  it('passes as it is, re-encoded and reordered', async () => {
    await fc.assert(
      fc.asyncProperty(signedUrls, fc.nat(), async (url, seed) => {
        const draw = drawFrom(seed);
        let written = url;
        for (let n = 0; n < 6; n += 1) {
          expect(meaningOf(written), written).to.equal(meaningOf(url));
          expect(await outcome(written), written).to.equal('passed');
          written = (rewritings[draw(rewritings.length)] as (typeof rewritings)[0])(written, draw);
        }
      }),
      { numRuns: 500 },
    );
  });

  it('passes in none of 10,000 tamperings', async () => {
    let tampered = 0;
    const codes = new Map<string, number>();
    while (tampered < 10_000) {
      await fc.assert(
        fc.asyncProperty(signedUrls, fc.nat(), async (url, seed) => {
          const draw = drawFrom(seed);
          const meant = meaningOf(url);
          for (let n = 0; n < 250; n += 1) {
            const other = (changes[draw(changes.length)] as (typeof changes)[0])(url, draw);
            if (meaningOf(other) === meant) continue;
            tampered += 1;
            const code = await outcome(other);
            if (code === 'passed') throw new Error(`It passes: ${other}`);
            // A change may happen to make a key of a name.
            if (code === 'invalid_input' && /[?&]ak=/.test(other)) continue;
            codes.set(code, (codes.get(code) ?? 0) + 1);
          }
        }),
        { numRuns: 40 },
      );
    }
    // Without its whole query a url has neither key nor signature; everything else gets one code.
    expect([...codes.keys()]).to.have.members(['signature_invalid', 'key_missing']);
    expect(codes.get('key_missing')).to.be.lessThan(tampered / 20);
  });
});
