import { expect } from 'chai';
import { createCache } from '../../gateway/cache.js';

const entry = (bytes: number) => ({ bytes });

/** One namespace of a cache, with what is counted of all. */
function createResults(maxBytes: number) {
  const cache = createCache(maxBytes);
  const stats = () => ({ bytes: cache.stats().bytes, entries: cache.stats().entries });
  return { ...cache.namespace('result'), stats };
}

describe('createCache', () => {
  it('holds its bound, and what a tenant asks for displaces its own', () => {
    const cache = createResults(100_000);
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
    const cache = createResults(30_000);
    for (const key of ['1', '2', '3', '4', '5']) cache.set('a', key, entry(5_000), 5_000);
    cache.get('a', '1');
    cache.set('a', '6', entry(5_000), 5_000);
    expect(cache.get('a', '1')).to.not.equal(undefined);
    expect(cache.get('a', '2')).to.equal(undefined);
  });

  it('stores nothing larger than a quarter of it, nor anything where it is off, and says so', () => {
    for (const [maxBytes, bytes] of [
      [100_000, 25_000],
      [0, 0],
    ] as const) {
      const cache = createResults(maxBytes);
      expect(cache.set('a', 'key', entry(bytes), bytes)).to.equal(false);
      expect(cache.get('a', 'key')).to.equal(undefined);
      expect(cache.stats()).to.deep.equal({ bytes: 0, entries: 0 });
    }
  });

  it('forgets, and counts what is left', () => {
    const cache = createResults(100_000);
    cache.set('a', 'one', entry(1_000), 1_000);
    cache.set('a', 'one', entry(2_000), 2_000);
    cache.set('b', 'two', entry(1_000), 1_000);
    expect(cache.stats().entries).to.equal(2);
    cache.delete('a', 'one');
    cache.delete('a', 'none');
    cache.delete('b', 'two');
    expect(cache.stats()).to.deep.equal({ bytes: 0, entries: 0 });
  });

  it('keeps namespaces and tenants apart in one memory', () => {
    const cache = createCache(10_000);
    const results = cache.namespace<{ n: number }>('result');
    const sources = cache.namespace<{ n: number }>('source');
    const all = () => [results.get('a', 'key'), sources.get('a', 'key'), results.get('b', 'key')];
    expect(results.set('a', 'key', { n: 1 }, 100)).to.equal(true);
    expect(all()).to.deep.equal([{ n: 1 }, undefined, undefined]);
    sources.set('a', 'key', { n: 2 }, 100);
    expect(all()).to.deep.equal([{ n: 1 }, { n: 2 }, undefined]);
    results.delete('a', 'key');
    expect(all()).to.deep.equal([undefined, { n: 2 }, undefined]);
    expect(cache.stats().entries).to.equal(1);
  });

  it('counts uses by their status', () => {
    const cache = createCache(0);
    for (let uses = 0; uses < 2; uses += 1) cache.namespace('source').count('hit');
    cache.namespace('result').count('miss');
    expect(cache.stats().uses.filter(({ number }) => number > 0)).to.deep.equal([
      { cache: 'result', outcome: 'miss', number: 1 },
      { cache: 'source', outcome: 'hit', number: 2 },
    ]);
  });
});
