import { expect } from 'chai';
import fc from 'fast-check';
import { createKey, hashSecret, parseKey } from '../../../gateway/keys/model.js';
import { anyCharacter } from '../../examples.js';

const keys = fc.constant(null).map(createKey);
const alphabet = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_-';

describe('keys/key-format', () => {
  it('makes keys of one length that it recognises', () => {
    fc.assert(
      fc.property(keys, (key) => {
        expect(key).to.match(/^hg_[0-9A-Za-z]{33}$/);
        expect(parseKey(key)).to.deep.equal({
          hash: hashSecret(key),
          prefix: key.slice(0, 7),
          suffix: key.slice(-4),
        });
      }),
    );
  });

  it('never makes the same key twice', () => {
    expect(new Set(Array.from({ length: 1000 }, createKey)).size).to.equal(1000);
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

  it('refuses every change of a single character', () => {
    fc.assert(
      fc.property(keys, fc.nat(35), fc.constantFrom(...alphabet), (key, at, character) => {
        fc.pre(key[at] !== character);
        expect(parseKey(key.slice(0, at) + character + key.slice(at + 1))).to.equal(undefined);
      }),
    );
  });

  it('refuses every swap of two characters of the random part', () => {
    fc.assert(
      fc.property(keys, fc.integer({ min: 3, max: 29 }), fc.integer({ min: 3, max: 29 }), (key, a, b) => {
        fc.pre(key[a] !== key[b]);
        const characters = [...key];
        [characters[a], characters[b]] = [key[b] as string, key[a] as string];
        expect(parseKey(characters.join(''))).to.equal(undefined);
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
