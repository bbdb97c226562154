import { expect } from 'chai';
import fc from 'fast-check';
import {
  canonicalQuery,
  isSignedBy,
  readUnsigned,
  signatureOf,
  signedText,
  signUrl,
} from '../../../gateway/signing/signed-url.js';
import { createSigningSecrets } from '../../../gateway/signing/signing-secrets.js';
import { parseUrlencoded } from '../../../schemas/input/parse.js';
import { outcome, signedUrls, tamperingTest } from './signed-urls.js';
import { master, signing } from './signing.js';
import { drawFrom, meaningOf, rewritings } from './tamper.js';
import { vectors } from './vectors.js';

const given = { kid: 'key_one', secret: `hgs_${'s'.repeat(43)}`, exp: 2_000_000_000 };

describe('what is signed', () => {
  it('is the path as it is sent and the canonical query, a line each', () => {
    const values = new Map([
      ['url', 'https://example.com/ä b.jpg?x=1&y=(2)'],
      ['sig', 'not this'],
      ['a', "it's *"],
      ['B', ''],
      ['a-', '~'],
    ]);
    expect(signedText({ path: '/img/add-border', values })).to.equal(
      'hg1\n/img/add-border\nB=&a=it%27s%20%2A&a-=~&url=https%3A%2F%2Fexample.com%2F%C3%A4%20b.jpg%3Fx%3D1%26y%3D%282%29',
    );
  });

  it('is signed as anybody would do it by the words of the README', () => {
    const values = new Map([
      ['text', 'the cat'],
      ['kid', 'key_one'],
      ['exp', '2000000000'],
    ]);
    // printf 'hg1\n/text/remove-stopwords\nexp=2000000000&kid=key_one&text=the%20cat' | openssl dgst -sha256 -hmac hgs_sss… -binary | basenc --base64url
    expect(signatureOf(given.secret, { path: '/text/remove-stopwords', values })).to.equal(
      'BNN2LyJJpjC5M2reJojKWnC03j371YvkqOkYnvTzPBw',
    );
  });
});

describe('signing a url', () => {
  it('appends the key’s id, the end and the signature to what a browser would send', () => {
    const tail = /&kid=key_one&exp=2000000000&sig=[\w-]{43}$/;
    const url = 'https://pictures.example.com/media/add-border?url=https://e.com/a b.jpg&color=dusty+rose';
    const signed = signUrl({ ...given, url });
    expect(signed).to.match(tail).and.equal(new URL(signed).href);
    expect(signed.replace(tail, '')).to.equal(url.replace(' ', '%20'));
    expect(signUrl({ ...given, url: '/text/a' })).to.match(
      /^\/text\/a\?kid=key_one&exp=2000000000&sig=[\w-]{43}$/,
    );
  });

  it('gives one signature to a url whole and from its path on, however it is written', () => {
    const sigOf = (url: string) => signUrl({ ...given, url }).split('&sig=')[1];
    const all = [
      '/a?b=1+2&c=%C3%A4',
      'https://h/a?c=%c3%a4&b=1%202',
      'http://h:81/x/../a?c=ä&b=1 2&',
      '/a?&c=ä&b=1%202',
    ];
    expect(new Set(all.map(sigOf)).size).to.equal(1);
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
        .that.satisfies(
          (told: { field: string; problem: string }) =>
            told.field === 'url' && told.problem.includes(problem),
        );
      expect(() => readUnsigned(url)).to.throw();
    });
  }
});

describe('signing secrets', () => {
  it('are another for each key, version and master, and the same at every start', () => {
    const other = createSigningSecrets([`${master}2`]);
    const all = [
      signing.current('key_a', 1),
      signing.current('key_a', 2),
      signing.current('key_b', 1),
      other.current('key_a', 1),
    ];
    expect(new Set(all).size).to.equal(4);
    for (const secret of all) expect(secret).to.match(/^hgs_[\w-]{43}$/);
    expect(createSigningSecrets([master]).current('key_a', 1)).to.equal(all[0]);
  });

  it('sign with the first master, and verify with all', () => {
    const both = createSigningSecrets(['new-'.repeat(8), master]);
    expect(both.all('key_a', 1)).to.deep.equal([both.current('key_a', 1), signing.current('key_a', 1)]);
  });

  it('are not there without a master, and say which variable is missing', () => {
    const none = createSigningSecrets(undefined);
    expect(none.available).to.equal(false);
    for (const ask of [none.requireMaster, () => none.current('key_a', 1), () => none.all('key_a', 1)])
      expect(ask)
        .to.throw(/HELPER_SIGNING_SECRET/)
        .with.property('code', 'storage_unavailable');
  });
});

/** The parameters of a url, as the gateway reads them. */
function read(url: string): Map<string, string> {
  const { values, problems } = parseUrlencoded(url.slice(url.indexOf('?') + 1));
  expect(problems).to.deep.equal([]);
  return values;
}

describe('the test vectors of signed urls', () => {
  for (const vector of vectors) {
    const { about, secret, address, key_id, expires, path, canonical_query, signature, url } = vector;
    const values = new Map(Object.entries(vector.parameters));

    it(`hold for what verifies: ${about}`, () => {
      expect(canonicalQuery(values)).to.equal(canonical_query);
      expect(signatureOf(secret, { path, values })).to.equal(signature);
      const sent = read(url);
      const text = signedText({ path, values: sent });
      expect(isSignedBy([secret], text, sent.get('sig') ?? '')).to.equal(true);
      expect(isSignedBy([secret.toUpperCase()], text, signature)).to.equal(false);
    });

    it(`hold for what signs, which leaves the query as it was given: ${about}`, () => {
      const signed = signUrl({ url: address, kid: key_id, secret, exp: expires });
      expect(signed.split('?')[0]).to.equal(url.split('?')[0]);
      expect(read(signed)).to.deep.equal(new Map([...values, ['sig', signature]]));
    });
  }
});

describe('a signed url', () => {
  it('passes as it is', async () => {
    await fc.assert(fc.asyncProperty(signedUrls, async (url) => (await outcome(url)) === 'passed'));
  });

  it('passes whoever re-encodes and reorders it', async () => {
    await fc.assert(
      fc.asyncProperty(signedUrls, fc.nat(), async (url, seed) => {
        const draw = drawFrom(seed);
        let written = url;
        for (let n = 0; n < 6; n += 1) {
          written = (rewritings[draw(rewritings.length)] as (typeof rewritings)[0])(written, draw);
          expect(meaningOf(written), written).to.equal(meaningOf(url));
          expect(await outcome(written), written).to.equal('passed');
        }
      }),
      { numRuns: 500 },
    );
  });

  tamperingTest(10_000);
});
