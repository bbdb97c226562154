import { expect } from 'chai';
import fc from 'fast-check';
import { canonicalQuery, signatureOf } from '../../../gateway/signing/signed-url.js';
import { createSigningSecrets } from '../../../gateway/signing/signing-secrets.js';
import { snippets } from '../../../gateway/signing/snippets.js';
import { parseUrlencoded } from '../../../schemas/input/parse.js';
import { anyCharacter } from '../../examples.js';
import { skipWithout } from '../../needs.js';
import { startTestGateway, type TestGateway } from '../harness.js';
import { type Call, programs } from './programs.js';
import { tamperingTest } from './signed-urls.js';
import { master } from './signing.js';
import { vectors } from './vectors.js';

describe('a gateway', function () {
  /** What a cat says, in all that a query may not hold as it is. */
  const text = `100% ~*'()! "a+b" & c=d/é#🦔;\\ $x <y>`;

  // Where Go has its own packages compiled first.
  this.timeout(300_000);
  let api: TestGateway;
  before(async () => {
    api = await startTestGateway({ HELPER_SIGNING_SECRET: master });
  });
  after(() => api.close());

  for (const program of programs) {
    it(`answers what ${program.language} has signed`, async function () {
      const missing = program.missing();
      if (missing) skipWithout(this, missing);
      const key_id = api.gateway.firstKey?.id ?? '';
      const secret = createSigningSecrets([master]).current(key_id, 1);
      const address = `${api.url}/text/remove-stopwords?${new URLSearchParams({ text })}&keep=&language=eng`;
      const expires = Math.floor(Date.now() / 1000) + 3600;
      const [url = '', late = ''] = program.signAll([
        { address, key_id, secret, expires },
        { address, key_id, secret, expires: expires - 7200 },
      ]);
      const answer = await (await fetch(url)).json();
      expect(answer).to.have.property('ok', true);
      const byKey = await api.call(address.slice(api.url.length));
      expect(answer.data).to.deep.equal(byKey.json.data);
      expect((await fetch(url.replace('100', '101'))).status).to.equal(403);
      expect((await (await fetch(late)).json()).error.code).to.equal('signature_expired');
    });
  }
});

describe('the snippets that sign urls', function () {
  const own = ['kid', 'exp', 'sig'];
  const text = fc.oneof(
    fc.string({ unit: anyCharacter, maxLength: 8 }),
    fc.string({ unit: fc.constantFrom(...'aA0.-_~*\'()! +&=%/?;:@,$"<>[]üß🦔'), maxLength: 12 }),
    fc.constantFrom('', '0', '9', '10', 'a', 'a-b', 'A', 'keyid', '__proto__', '100%', '\r\n', '\ufeff'),
  );
  const name = text.filter((each) => !own.includes(each));
  const parameters = fc.uniqueArray(fc.tuple(name, text), { maxLength: 8, selector: ([each]) => each });

  /** What need not be encoded in a query, though some do; what has a meaning there and what is no visible character must. */
  const mayStay = /[^&=+%#\s\p{C}]/u;

  /** Writes parameters as somebody might: what need not be encoded is or is not, in capitals or small letters, spaces in both ways. */
  const address = fc
    .tuple(
      fc.constantFrom('', 'https://img.example.com', 'http://127.0.0.1:8080'),
      fc.constantFrom('/media/add-border', '/text/shout', '/a'),
      parameters,
      fc.infiniteStream(fc.nat({ max: 3 })),
    )
    .map(([origin, path, pairs, ways]) => {
      const write = (each: string) =>
        Array.from(each, (character) => {
          const way = ways.next().value;
          if (way > 1 && mayStay.test(character)) return character;
          if (way > 1 && character === ' ') return '+';
          const bytes = [...Buffer.from(character)].map((byte) => `%${byte.toString(16).padStart(2, '0')}`);
          return way % 2 === 0 ? bytes.join('') : bytes.join('').toUpperCase();
        }).join('');
      const query = pairs.map(([each, value]) => `${write(each)}=${write(value)}`).join('&');
      return query === '' ? `${origin}${path}` : `${origin}${path}?${query}`;
    });

  const calls: fc.Arbitrary<Call> = fc.record({
    address,
    key_id: fc.stringMatching(/^key_[0-9A-Za-z]{12}$/),
    secret: fc.stringMatching(/^hgs_[\w-]{43}$/),
    expires: fc.integer({ min: 1, max: 4_102_444_800 }),
  });

  /** The url that the gateway's own code makes of it. */
  function signed({ address, key_id, secret, expires }: Call): string {
    const [base = ''] = address.split('?', 1);
    const { values, problems } = parseUrlencoded(address.slice(base.length + 1));
    expect(problems).to.deep.equal([]);
    values.set('kid', key_id).set('exp', String(expires));
    const path = base.replace(/^https?:\/\/[^/]+/, '');
    return `${base}?${canonicalQuery(values)}&sig=${signatureOf(secret, { path, values })}`;
  }

  // Where Go has its own packages compiled first.
  this.timeout(300_000);

  for (const program of programs) {
    describe(`in ${program.language}`, () => {
      before(function () {
        const missing = program.missing();
        if (missing) skipWithout(this, missing);
      });

      it('make the urls of the test vectors', () => {
        const urls = program.signAll(vectors);
        for (const [at, { about, url }] of vectors.entries()) expect(urls[at], about).to.equal(url);
        expect(urls).to.have.length(vectors.length);
      });

      it('make the urls that the gateway makes, of whatever parameters in whatever writing', () => {
        const seed = Date.now();
        const given = fc.sample(calls, { numRuns: 1_000, seed });
        const urls = program.signAll(given);
        const wrong = given.filter((call, at) => urls[at] !== signed(call));
        const [least] = wrong.sort((a, b) => a.address.length - b.address.length);
        expect(wrong.length, `seed ${seed}: ${JSON.stringify(least)}`).to.equal(0);
      });

      it('are called as the key page shows it', () => {
        const { call } = snippets().find(({ language }) => language === program.language) ?? {};
        const { secret, key_id } = vectors[0] as Call;
        const address = 'https://api.example.com/media/add-border?color=dusty%20rose&width=24';
        const url = program.print(call?.(address, key_id) ?? '', { SIGNING_SECRET: secret });
        const expires = Number(/[?&]exp=(\d+)&/.exec(url)?.[1]);
        expect(url).to.equal(signed({ address, key_id, secret, expires }));
        expect(expires % 3600).to.equal(0);
        expect(expires * 1000 - Date.now()).to.be.within(23 * 3_600_000, 25 * 3_600_000);
      });
    });
  }
});

describe('a signed url', () => {
  tamperingTest(100_000);
});
