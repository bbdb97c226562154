import { createHmac } from 'node:crypto';
import { expect } from 'chai';
import { canonicalQuery } from '../../../gateway/signing/canonical.js';
import { isSignedBy, signatureOf } from '../../../gateway/signing/signature.js';
import { parseUrlencoded } from '../../../schemas/input/urlencoded.js';
import { vectors } from './vectors.js';

/** The parameters of an address, as the gateway reads them. */
function read(address: string): Map<string, string> {
  const { values, problems } = parseUrlencoded(address.slice(address.indexOf('?') + 1));
  expect(problems).to.deep.equal([]);
  return values;
}

describe('the test vectors of signed urls', () => {
  for (const vector of vectors) {
    it(`hold for the gateway: ${vector.about}`, () => {
      const { secret, path, canonical_query, signature, url } = vector;
      const values = new Map(Object.entries(vector.parameters));
      expect(canonicalQuery(values)).to.equal(canonical_query);
      expect(signatureOf(secret, { path, values })).to.equal(signature);
      const sent = read(url);
      expect(isSignedBy([secret], { path, values: sent }, sent.get('sig') ?? '')).to.equal(true);
      // As it was given, too, with what signing adds: the query need not be the canonical one.
      if (vector.address.includes('?')) {
        const given = [...read(vector.address), ['kid', vector.key_id], ['exp', String(vector.expires)]];
        expect(new Map(given as [string, string][])).to.deep.equal(values);
      }
    });

    it(`hold what is signed and its parts: ${vector.about}`, () => {
      const { secret, path, canonical_query, signature, url, address } = vector;
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
