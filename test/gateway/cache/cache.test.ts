import { expect } from 'chai';
import { createCache } from '../../../gateway/cache/cache.js';

describe('createCache', () => {
  it('keeps shelves apart in one memory', () => {
    const cache = createCache(10_000);
    const results = cache.shelf<{ n: number }>('result');
    const sources = cache.shelf<{ n: number }>('source');
    expect(results.set('a', 'key', { n: 1 }, 100)).to.equal(true);
    expect(sources.get('a', 'key')).to.equal(undefined);
    sources.set('a', 'key', { n: 2 }, 100);
    expect([results.get('a', 'key'), sources.get('a', 'key')]).to.deep.equal([{ n: 1 }, { n: 2 }]);
    results.delete('a', 'key');
    expect([results.get('a', 'key'), sources.get('a', 'key')]).to.deep.equal([undefined, { n: 2 }]);
    expect(cache.stats().entries).to.equal(1);
  });

  it('says what it does not keep', () => {
    expect(createCache(10_000).shelf('result').set('a', 'key', {}, 9_000)).to.equal(false);
    expect(createCache(0).shelf('source').set('a', 'key', {}, 0)).to.equal(false);
  });

  it('counts how things were come by', () => {
    const cache = createCache(0);
    cache.shelf('source').count('hit');
    cache.shelf('source').count('hit');
    cache.shelf('result').count('miss');
    const counted = cache.stats().uses.filter(({ number }) => number > 0);
    expect(counted).to.deep.equal([
      { cache: 'result', outcome: 'miss', number: 1 },
      { cache: 'source', outcome: 'hit', number: 2 },
    ]);
  });
});
