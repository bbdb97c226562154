import { createHmac } from 'node:crypto';
import { expect } from 'chai';
import { canonicalQuery } from '../../../gateway/signing/canonical.js';
import { signUrl } from '../../../gateway/signing/sign-url.js';
import { isSignedBy, signatureOf, signedText } from '../../../gateway/signing/signature.js';
import { parseUrlencoded } from '../../../schemas/input/urlencoded.js';
import { vectors } from './vectors.js';

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

    it(`agree with themselves: ${about}`, () => {
      const text = `hg1\n${path}\n${canonical_query}`;
      expect(createHmac('sha256', secret).update(text).digest('base64url')).to.equal(signature);
      const base = address.split('?')[0] ?? '';
      expect(base.endsWith(path)).to.equal(true);
      expect(url).to.equal(`${base}?${canonical_query}&sig=${signature}`);
    });
  }

  it('hold what is hard', () => {
    const all = vectors.map(({ address }) => address).join('\n');
    for (const hard of [
      '+',
      '%2B',
      '%26',
      '%25',
      'ü',
      '🦔',
      '%c3',
      '*',
      '~',
      "'",
      '(',
      '!',
      'TEXT',
      '&&',
      'a-b',
    ])
      expect(all).to.include(hard);
    expect(vectors.length).to.be.at.least(12);
  });
});
