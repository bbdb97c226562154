import { expect } from 'chai';
import { createGrowingLru, createKeyCache } from '../../../gateway/keys/key-cache.js';
import type { FoundSecret } from '../../../gateway/keys/model.js';

function found(tenant: string, key: string): FoundSecret {
  const times = { created_at: 1, expires_at: null };
  return {
    tenant: {
      id: tenant,
      name: tenant,
      created_at: 1,
      weight: 1,
      limits: { rate: null, burst: null, monthly_quota: null, in_flight: null },
      webhook_version: 1,
      webhook_rotated_at: null,
    },
    key: {
      id: key,
      tenant_id: tenant,
      label: null,
      scopes: null,
      ...times,
      revoked_at: null,
      last_used_at: 1,
      signing_version: 1,
    },
    secret: { id: `s${key}`, key_id: key, hash: `h${key}`, prefix: '', suffix: '', ...times, ended_at: null },
  };
}

describe('keys/key-cache', () => {
  it('looks at no key but the tenant’s when something of it changed', () => {
    const cache = createKeyCache(1_000);
    for (let n = 0; n < 500; n += 1) cache.set(`h${n}`, found(`t${n % 100}`, `k${n}`), 1);
    const looked: string[] = [];
    const forgotten = cache.forget('t7', ({ key }) => {
      looked.push(key.id);
      return key.id !== 'k107';
    });
    expect(looked).to.deep.equal(['k7', 'k107', 'k207', 'k307', 'k407']);
    expect(forgotten).to.deep.equal(['h7', 'h207', 'h307', 'h407']);
    expect([cache.has('h7'), cache.has('h107'), cache.has('h8')]).to.deep.equal([false, true, true]);
    expect(cache.forget('t7', () => true)).to.deep.equal(['h107']);
  });

  it('keeps one object of a tenant for all its keys, and what each key’s read brought', () => {
    const cache = createKeyCache(10);
    for (const key of ['a', 'b']) cache.set(key, found('t', key), 1);
    expect(cache.get('a')?.tenant).to.equal(cache.get('b')?.tenant);
    const changed = found('t', 'c');
    changed.tenant.weight = 2;
    cache.set('c', changed, 2);
    expect(['a', 'b', 'c'].map((hash) => cache.get(hash)?.tenant.weight)).to.deep.equal([1, 1, 2]);
  });

  it('knows a tenant’s key that took the place of its only other one', () => {
    const cache = createKeyCache(1);
    for (const key of ['a', 'b']) cache.set(key, found('t', key), 1);
    expect(cache.forget('t', () => true)).to.deep.equal(['b']);
  });

  it('knows nothing of a tenant whose keys have gone, and all of one whose keys were read again', () => {
    const cache = createKeyCache(1);
    cache.set('a', found('gone', 'a'), 1);
    for (const readAt of [1, 2]) cache.set('b', found('t', 'b'), readAt);
    expect(cache.forget('gone', () => true)).to.deep.equal([]);
    expect(cache.get('b')?.readAt).to.equal(2);
    expect([...cache.clear()]).to.deep.equal(['b']);
    expect([cache.has('b'), cache.forget('t', () => true)]).to.deep.equal([false, []]);
  });
});

describe('keys/growing-lru', () => {
  it('takes no memory before it is filled, however much it may hold', () => {
    const held = () => process.memoryUsage().heapUsed + process.memoryUsage().arrayBuffers;
    const before = held();
    const caches = Array.from({ length: 10 }, () => createGrowingLru(10_000_000));
    expect(held() - before).to.be.below(10_000_000);
    expect(caches.map((cache) => cache.size)).to.deep.equal(caches.map(() => 0));
  });
});
