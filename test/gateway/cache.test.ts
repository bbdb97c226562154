import { expect } from 'chai';
import { createByteCache, createCache } from '../../gateway/cache.js';

const entry = (bytes: number) => ({ bytes });

describe('byte cache', () => {
  it('keeps each tenant’s entries apart', () => {
    const cache = createByteCache<object>(1e6);
    const value = entry(10);
    cache.set('a', 'key', value, 10);
    expect(cache.get('a', 'key')).to.equal(value);
    expect(cache.get('b', 'key')).to.equal(undefined);
  });

  it('holds its bound, and what a tenant asks for displaces its own', () => {
    const cache = createByteCache<object>(100_000);
    for (let i = 0; i < 5; i++) cache.set('quiet', `q${i}`, entry(5_000), 5_000);
    for (let i = 0; i < 1_000; i++) {
      cache.set('noisy', `n${i}`, entry(5_000), 5_000);
      expect(cache.stats().bytes).to.be.at.most(100_000);
    }
    for (let i = 0; i < 5; i++) expect(cache.get('quiet', `q${i}`), `q${i}`).to.not.equal(undefined);
    expect(cache.get('noisy', 'n999')).to.not.equal(undefined);
    expect(cache.get('noisy', 'n0')).to.equal(undefined);
  });

  it('gives up what was used the longest ago', () => {
    const cache = createByteCache<object>(30_000);
    for (const key of ['1', '2', '3', '4', '5']) cache.set('a', key, entry(5_000), 5_000);
    cache.get('a', '1');
    cache.set('a', '6', entry(5_000), 5_000);
    expect(cache.get('a', '1')).to.not.equal(undefined);
    expect(cache.get('a', '2')).to.equal(undefined);
  });

  it('takes nothing that is larger than a quarter of it, and nothing at all where it is off', () => {
    const cache = createByteCache<object>(100_000);
    cache.set('a', 'large', entry(25_000), 25_000);
    expect(cache.get('a', 'large')).to.equal(undefined);
    const off = createByteCache<object>(0);
    off.set('a', 'small', entry(0), 0);
    expect(off.get('a', 'small')).to.equal(undefined);
    expect(off.stats()).to.deep.equal({ bytes: 0, entries: 0 });
  });

  it('forgets, and counts what is left', () => {
    const cache = createByteCache<object>(100_000);
    cache.set('a', 'one', entry(1_000), 1_000);
    cache.set('a', 'one', entry(2_000), 2_000);
    cache.set('b', 'two', entry(1_000), 1_000);
    expect(cache.stats().entries).to.equal(2);
    cache.delete('a', 'one');
    cache.delete('a', 'none');
    cache.delete('b', 'two');
    expect(cache.stats()).to.deep.equal({ bytes: 0, entries: 0 });
  });
});

describe('createCache', () => {
  it('keeps shelves apart in one memory', () => {
    const cache = createCache(10_000);
    const results = cache.namespace<{ n: number }>('result');
    const sources = cache.namespace<{ n: number }>('source');
    expect(results.set('a', 'key', { n: 1 }, 100)).to.equal(true);
    expect(sources.get('a', 'key')).to.equal(undefined);
    sources.set('a', 'key', { n: 2 }, 100);
    expect([results.get('a', 'key'), sources.get('a', 'key')]).to.deep.equal([{ n: 1 }, { n: 2 }]);
    results.delete('a', 'key');
    expect([results.get('a', 'key'), sources.get('a', 'key')]).to.deep.equal([undefined, { n: 2 }]);
    expect(cache.stats().entries).to.equal(1);
  });

  it('says what it does not keep', () => {
    expect(createCache(10_000).namespace('result').set('a', 'key', {}, 9_000)).to.equal(false);
    expect(createCache(0).namespace('source').set('a', 'key', {}, 0)).to.equal(false);
  });

  it('counts how things were come by', () => {
    const cache = createCache(0);
    cache.namespace('source').count('hit');
    cache.namespace('source').count('hit');
    cache.namespace('result').count('miss');
    const counted = cache.stats().uses.filter(({ number }) => number > 0);
    expect(counted).to.deep.equal([
      { cache: 'result', outcome: 'miss', number: 1 },
      { cache: 'source', outcome: 'hit', number: 2 },
    ]);
  });
});
