import { LRUCache } from 'lru-cache';
import type { FoundSecret, Key, Secret, Tenant } from './model.js';

/** What judging a key takes; of all that a look-up brings, the part that is worth its memory. */
export interface KnownKey {
  tenant: Pick<Tenant, 'id' | 'name' | 'limits' | 'weight'>;
  key: Pick<Key, 'id' | 'label' | 'scopes' | 'created_at' | 'expires_at' | 'revoked_at'>;
  secret: Pick<Secret, 'expires_at' | 'ended_at'>;
}

export interface CachedKey extends KnownKey {
  /** Monotonic time at which its read began. */
  readAt: number;
}

/** The keys that were seen lately, by their hash and never by the key itself. */
export interface KeyCache {
  get(hash: string): CachedKey | undefined;
  has(hash: string): boolean;
  set(hash: string, found: FoundSecret, readAt: number): void;
  /** Forgets the keys of a tenant that `touched` is true of, and returns their hashes; costs what that tenant has, not what there is. */
  forget(tenant: string, touched: (known: KnownKey) => boolean): string[];
  /** Forgets everything, and returns the hashes, one by one: to list them all would take long. */
  clear(): Iterable<string>;
}

/** A cache of at most `most` keys, the ones used last; some 0.7 KB each. */
export function createKeyCache(most: number): KeyCache {
  let keys = createKeys();
  let hashes = new Map<string, Set<string>>();

  function createKeys(): LRUCache<string, CachedKey> {
    return new LRUCache({
      max: most,
      dispose({ tenant }, hash, reason) {
        if (reason === 'set') return;
        const others = hashes.get(tenant.id);
        others?.delete(hash);
        if (others?.size === 0) hashes.delete(tenant.id);
      },
    });
  }

  return {
    get: (hash) => keys.get(hash),
    has: (hash) => keys.has(hash),
    set(hash, { tenant, key, secret }, readAt) {
      const { id, name, limits, weight } = tenant;
      keys.set(hash, {
        tenant: { id, name, limits, weight },
        key: {
          id: key.id,
          label: key.label,
          scopes: key.scopes,
          created_at: key.created_at,
          expires_at: key.expires_at,
          revoked_at: key.revoked_at,
        },
        secret: { expires_at: secret.expires_at, ended_at: secret.ended_at },
        readAt,
      });
      const others = hashes.get(id);
      if (others) others.add(hash);
      else hashes.set(id, new Set([hash]));
    },
    forget(tenant, touched) {
      const forgotten: string[] = [];
      for (const hash of hashes.get(tenant) ?? []) {
        const known = keys.peek(hash);
        if (known && touched(known)) forgotten.push(hash);
      }
      for (const hash of forgotten) keys.delete(hash);
      return forgotten;
    },
    clear() {
      const all = hashes;
      // To empty a large one takes longer than to make another.
      keys = createKeys();
      hashes = new Map();
      return each(all);
    },
  };
}

function* each(hashes: Map<string, Set<string>>): Generator<string> {
  for (const some of hashes.values()) yield* some;
}
