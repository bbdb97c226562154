import { expect } from 'chai';
import fc from 'fast-check';
import { createKey, hashSecret, knownScopes, parseKey, scopeAllows } from '../../../gateway/keys/model.js';
import { anyCharacter } from '../../examples.js';

const keys = fc.constant(null).map(createKey);
const alphabet = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_-';

describe('keys/key-format', () => {
  it('makes keys of one length that it recognises, no two alike', () => {
    const made = new Set<string>();
    fc.assert(
      fc.property(keys, (key) => {
        expect(key).to.match(/^hg_[0-9A-Za-z]{33}$/);
        const parts = { hash: hashSecret(key), prefix: key.slice(0, 7), suffix: key.slice(-4) };
        expect(parseKey(key)).to.deep.equal(parts);
        expect(made.size).to.be.below(made.add(key).size);
      }),
    );
  });

  it('draws every character about equally often', () => {
    const counts = new Map<string, number>();
    for (let round = 0; round < 4000; round++) {
      for (const character of createKey().slice(3, 30))
        counts.set(character, (counts.get(character) ?? 0) + 1);
    }
    const expected = (4000 * 27) / 62;
    expect(counts.size).to.equal(62);
    // Ten standard deviations; a plain byte % 62 would favour eight characters by a quarter.
    for (const count of counts.values()) {
      expect(Math.abs(count - expected)).to.be.lessThan(10 * Math.sqrt(expected));
    }
  });

  it('refuses every change of a character, and every swap of two of the random part', () => {
    const at = fc.integer({ min: 3, max: 29 });
    fc.assert(
      fc.property(keys, fc.nat(35), fc.constantFrom(...alphabet), at, at, (key, changed, to, a, b) => {
        const swapped = [...key];
        [swapped[a], swapped[b]] = [key[b] as string, key[a] as string];
        for (const other of [key.slice(0, changed) + to + key.slice(changed + 1), swapped.join('')]) {
          if (other !== key) expect(parseKey(other)).to.equal(undefined);
        }
      }),
    );
  });

  it('refuses what was cut off, added to, or is something else', () => {
    const key = createKey();
    for (const text of ['', 'hg_', key.slice(0, -1), `${key}0`, ` ${key}`, `${key}\n`, key.toUpperCase()]) {
      expect(parseKey(text)).to.equal(undefined);
    }
    fc.assert(fc.property(fc.string({ unit: anyCharacter }), (text) => parseKey(text) === undefined));
  });

  it('hashes with SHA-256', () => {
    expect(hashSecret('abc')).to.equal('ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad');
  });
});

describe('keys/scopes', () => {
  it('allow a helper by its id and by its folder, not by the beginning of a name; none allow all', () => {
    for (const [scopes, service, isAllowed] of [
      [null, 'text/a', true],
      [['text/a'], 'text/a', true],
      [['media/b', 'text/*'], 'text/a', true],
      [['a/*'], 'a/b/c', true],
      [['text/remove'], 'text/remove-stopwords', false],
      [['text/*'], 'textual/analysis', false],
      [['media/*'], 'text/a', false],
    ] as [string[] | null, string, boolean][]) {
      expect(scopeAllows(scopes, service), `${scopes} ${service}`).to.equal(isAllowed);
    }
  });

  it('are known of each helper and each folder', () => {
    const known = ['ping', 'text/*', 'text/a', 'text/deep/*', 'text/deep/b'];
    expect(knownScopes(['ping', 'text/a', 'text/deep/b'])).to.deep.equal(known);
  });
});
