import { isDeepStrictEqual } from 'node:util';
import type { LRUCache } from 'lru-cache';
import { createGrowingLru } from './growing-lru.js';
import type { UsedKey } from './last-used.js';
import type { FoundSecret, Key, Secret, Tenant } from './model.js';

/** What judging a key takes; of all that a look-up brings, the part that is worth its memory. */
export interface KnownKey {
  tenant: Pick<Tenant, 'id' | 'name' | 'limits' | 'weight'>;
  key: UsedKey & Pick<Key, 'label' | 'scopes' | 'expires_at' | 'revoked_at'>;
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

/** A tenant and its cached keys, all of which hold this one object of it: ten thousand copies would crowd the processor's caches. */
interface Owner {
  tenant: KnownKey['tenant'];
  hashes: Set<string>;
}

/** What most tenants and secrets have; one object for all of them. */
const defaults: KnownKey['tenant']['limits'] = {
  rate: null,
  burst: null,
  monthly_quota: null,
  in_flight: null,
};
const lasting: KnownKey['secret'] = { expires_at: null, ended_at: null };

/** A cache of at most `most` keys, the ones used last; some 0.4 KB each. */
export function createKeyCache(most: number): KeyCache {
  let keys = createKeys();
  let owners = new Map<string, Owner>();

  function createKeys(): LRUCache<string, CachedKey> {
    return createGrowingLru(most, ({ tenant: { id } }, hash) => {
      const owner = owners.get(id);
      owner?.hashes.delete(hash);
      if (owner?.hashes.size === 0) owners.delete(id);
    });
  }

  /** As it was read: a change that one key's read knows of is not yet another's. */
  function shared({ id, name, limits, weight }: Tenant): KnownKey['tenant'] {
    const read = { id, name, limits: isDeepStrictEqual(limits, defaults) ? defaults : limits, weight };
    const known = owners.get(id)?.tenant;
    return known && isDeepStrictEqual(known, read) ? known : read;
  }

  return {
    get: (hash) => keys.get(hash),
    has: (hash) => keys.has(hash),
    set(hash, { tenant: read, key, secret }, readAt) {
      const tenant = shared(read);
      keys.set(hash, {
        tenant,
        key: {
          id: key.id,
          label: key.label,
          scopes: key.scopes,
          created_at: key.created_at,
          expires_at: key.expires_at,
          revoked_at: key.revoked_at,
          usedAt: undefined,
        },
        secret:
          secret.expires_at === null && secret.ended_at === null
            ? lasting
            : { expires_at: secret.expires_at, ended_at: secret.ended_at },
        readAt,
      });
      // Only now: a key that had to make room may have been the tenant's only one.
      const owner = owners.get(tenant.id);
      if (!owner) return void owners.set(tenant.id, { tenant, hashes: new Set([hash]) });
      owner.tenant = tenant;
      owner.hashes.add(hash);
    },
    forget(tenant, touched) {
      const forgotten: string[] = [];
      for (const hash of owners.get(tenant)?.hashes ?? []) {
        const known = keys.peek(hash);
        if (known && touched(known)) forgotten.push(hash);
      }
      for (const hash of forgotten) keys.delete(hash);
      return forgotten;
    },
    clear() {
      const all = owners;
      // To empty a large one takes longer than to make another.
      keys = createKeys();
      owners = new Map();
      return each(all);
    },
  };
}

function* each(owners: Map<string, Owner>): Generator<string> {
  for (const { hashes } of owners.values()) yield* hashes;
}
