import { expect } from 'chai';
import { createGrowingLru } from '../../../gateway/keys/growing-lru.js';

describe('keys/growing-lru', () => {
  it('takes no memory before it is filled, however much it may hold', () => {
    const held = () => process.memoryUsage().heapUsed + process.memoryUsage().arrayBuffers;
    const before = held();
    const caches = Array.from({ length: 10 }, () => createGrowingLru(10_000_000));
    expect(held() - before).to.be.below(10_000_000);
    expect(caches.map((cache) => cache.size)).to.deep.equal(caches.map(() => 0));
  });

  it('lets the entry go that was used longest ago, and tells of what has gone but not of what was replaced', () => {
    const gone: string[] = [];
    const cache = createGrowingLru<{ n: number }>(2, ({ n }, key) => gone.push(`${key}${n}`));
    cache.set('a', { n: 1 });
    cache.set('b', { n: 1 });
    cache.set('a', { n: 2 });
    cache.set('c', { n: 1 });
    cache.delete('a');
    expect(gone).to.deep.equal(['b1', 'a2']);
    expect([...cache.keys()]).to.deep.equal(['c']);
  });
});
