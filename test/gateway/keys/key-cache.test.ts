import { expect } from 'chai';
import fc from 'fast-check';
import { createGrowingLru, createKeyCache, createLastUsed } from '../../../gateway/keys/key-cache.js';
import { foundSecret } from './verifier-world.js';

describe('keys/key-cache', () => {
  const found = (tenant: string, id: string) => foundSecret(tenant, { id, hash: `h${id}` });

  it('forgets the keys of a tenant that a change concerns, and looks at no other’s, whatever was evicted', () => {
    const step = fc.record({
      tenant: fc.nat(3),
      key: fc.nat(8),
      does: fc.constantFrom('set', 'set', 'forget'),
    });
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 12 }), fc.array(step, { maxLength: 80 }), (max, steps) => {
        const cache = createKeyCache(max);
        const all = new Set<string>();
        for (const { tenant, key, does } of steps) {
          const own = [...all].filter((name) => name.startsWith(`t${tenant}`) && cache.has(name));
          if (does === 'set') {
            all.add(`t${tenant}k${key}`);
            cache.set(`t${tenant}k${key}`, found(`t${tenant}`, `t${tenant}k${key}`), 1);
          } else {
            const looked: string[] = [];
            const concerned = own.filter((name) => !name.endsWith('k0'));
            const forgotten = cache.forget(`t${tenant}`, ({ key: { id } }) => {
              looked.push(id);
              return !id.endsWith('k0');
            });
            expect([looked, forgotten].map((each) => each.sort())).to.deep.equal([
              own.sort(),
              concerned.sort(),
            ]);
            expect(concerned.filter((name) => cache.has(name))).to.deep.equal([]);
          }
        }
        const rest = [...all].filter((name) => cache.has(name));
        expect(rest).to.have.length.at.most(max);
        expect([...cache.clear()]).to.have.members(rest);
        expect([...all].filter((name) => cache.has(name))).to.deep.equal([]);
      }),
    );
  });

  it('has one object of a tenant for all its keys, and of each key what its last read brought', () => {
    const cache = createKeyCache(10);
    for (const key of ['a', 'b']) cache.set(key, found('t', key), 1);
    expect(cache.get('a')?.tenant).to.equal(cache.get('b')?.tenant);
    const changed = found('t', 'c');
    changed.tenant.weight = 2;
    for (const readAt of [2, 3]) cache.set('c', changed, readAt);
    expect(['a', 'b', 'c'].map((hash) => cache.get(hash)?.tenant.weight)).to.deep.equal([1, 1, 2]);
    expect(cache.get('c')?.readAt).to.equal(3);
  });

  it('takes no memory before it is filled, however much it may hold', () => {
    const held = () => process.memoryUsage().heapUsed + process.memoryUsage().arrayBuffers;
    const before = held();
    const caches = Array.from({ length: 10 }, () => createGrowingLru(10_000_000));
    expect(held() - before).to.be.below(10_000_000);
    expect(caches.map((cache) => cache.size)).to.deep.equal(caches.map(() => 0));
  });
});

const keyOf = (age: number) => ({ id: `key_${age % 7}_${age}`, created_at: age });

describe('keys/last-used', () => {
  let isAway: boolean;
  let batches: Map<string, number>[];
  let lastUsed: ReturnType<typeof createLastUsed>;
  const open = (max: number) => {
    const touch = async (uses: ReadonlyMap<string, number>) => {
      if (isAway) throw new Error('gone');
      batches.push(new Map(uses));
    };
    return createLastUsed({ touch }, 2 ** 30, max);
  };
  beforeEach(() => {
    [isAway, batches] = [false, []];
    lastUsed = open(100_000);
  });
  afterEach(() => lastUsed.close());

  it('hands on few at a time, the oldest keys first, whatever order they were used in', async () => {
    for (let n = 0; n < 5_000; n += 1) lastUsed.note(keyOf((n * 2_003) % 5_000), n);
    await lastUsed.flush();
    expect(Math.max(...batches.map(({ size }) => size))).to.be.at.most(1_000);
    const written = batches.flatMap((batch) => [...batch.keys()]);
    expect(written).to.deep.equal(Array.from({ length: 5_000 }, (_, age) => keyOf(age).id));
  });

  it('lets at most so many keys wait, also while the database is away', async () => {
    await lastUsed.close();
    lastUsed = open(3);
    const keys = [1, 2, 3, 4, 5].map(keyOf);
    for (const key of keys.slice(0, 4)) lastUsed.note(key, 10);
    isAway = true;
    const writing = lastUsed.flush();
    for (const key of keys) lastUsed.note(key, 20);
    await writing;
    isAway = false;
    await lastUsed.flush();
    expect(batches.map((batch) => batch.size)).to.deep.equal([3]);
    for (const key of keys) lastUsed.note(key, 30);
    await lastUsed.flush();
    expect([...(batches[1]?.values() ?? [])]).to.deep.equal([30, 30, 30]);
  });

  it('writes a key once, with its latest use, also where it was forgotten and read again', async () => {
    const again = keyOf(1);
    for (const at of [1, 20]) lastUsed.note(again, at);
    lastUsed.note(keyOf(1), 10);
    await lastUsed.flush();
    lastUsed.note(again, 30);
    await lastUsed.flush();
    expect(batches).to.deep.equal([20, 30].map((at) => new Map([[again.id, at]])));
  });

  it('writes later what could not be written, and what came meanwhile is newer', async () => {
    for (const age of [1, 2]) lastUsed.note(keyOf(age), 10);
    isAway = true;
    const writing = lastUsed.flush();
    lastUsed.note(keyOf(2), 20);
    await writing;
    isAway = false;
    await lastUsed.flush();
    const uses = { [keyOf(1).id]: 10, [keyOf(2).id]: 20 };
    expect(batches).to.deep.equal([new Map(Object.entries(uses))]);
  });
});
