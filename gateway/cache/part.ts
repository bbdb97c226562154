import type { ByteCache } from './byte-cache.js';

/** What is kept: answers, and what was downloaded. */
export type Kept = 'result' | 'source';

/**
 * The part of a cache that holds one kind of values, under keys that begin with its name: the memory is one, so that it goes to what
 * is used. `Value` is what this part's only user keeps there.
 */
export function partOf<Value extends object>(cache: ByteCache<object>, kind: Kept): ByteCache<Value> {
  return {
    get: (tenant, key) => cache.get(tenant, `${kind} ${key}`) as Value | undefined,
    set: (tenant, key, value, bytes) => cache.set(tenant, `${kind} ${key}`, value, bytes),
    delete: (tenant, key) => cache.delete(tenant, `${kind} ${key}`),
    stats: cache.stats,
  };
}
