import { isDeepStrictEqual } from 'node:util';
import type { LRUCache } from 'lru-cache';
import { createGrowingLru } from './growing-lru.js';
import type { UsedKey } from './last-used.js';
import type { FoundKey, Key, Secret, Tenant } from './model.js';

/** What judging a key takes; of all that a look-up brings, the part that is worth its memory. */
export interface KnownKey {
  tenant: Pick<Tenant, 'id' | 'name' | 'limits' | 'weight'>;
  key: UsedKey & Pick<Key, 'label' | 'scopes' | 'expires_at' | 'revoked_at' | 'signing_version'>;
  secret: Pick<Secret, 'expires_at' | 'ended_at'>;
}

export interface CachedKey extends KnownKey {
  /** Monotonic time at which its read began. */
  readAt: number;
}

/** What a read brought of a key: by its hash with the secret that was sent, by its id without one. */
export type FoundToKeep = FoundKey & { secret?: Secret };

/** The keys that were seen lately, by their hash or their id and never by the key itself. */
export interface KeyCache {
  get(name: string): CachedKey | undefined;
  has(name: string): boolean;
  /** Returns what is kept of it. */
  set(name: string, found: FoundToKeep, readAt: number): KnownKey;
  /** Forgets the keys of a tenant that `touched` is true of, and returns their names; costs what that tenant has, not what there is. */
  forget(tenant: string, touched: (known: KnownKey) => boolean): string[];
  /** Forgets everything, and returns the names, one by one: to list them all would take long. */
  clear(): Iterable<string>;
}

/** A tenant and its cached keys, all of which hold this one object of it: ten thousand copies would crowd the processor's caches. */
interface Owner {
  tenant: KnownKey['tenant'];
  names: Set<string>;
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
    return createGrowingLru(most, ({ tenant: { id } }, name) => {
      const owner = owners.get(id);
      owner?.names.delete(name);
      if (owner?.names.size === 0) owners.delete(id);
    });
  }

  /** As it was read: a change that one key's read knows of is not yet another's. */
  function shared({ id, name, limits, weight }: Tenant): KnownKey['tenant'] {
    const read = { id, name, limits: isDeepStrictEqual(limits, defaults) ? defaults : limits, weight };
    const known = owners.get(id)?.tenant;
    return known && isDeepStrictEqual(known, read) ? known : read;
  }

  return {
    get: (name) => keys.get(name),
    has: (name) => keys.has(name),
    set(name, found, readAt) {
      const tenant = shared(found.tenant);
      const kept = { ...createKnownKey(found, tenant), readAt };
      keys.set(name, kept);
      // Only now: a key that had to make room may have been the tenant's only one.
      const owner = owners.get(tenant.id);
      if (owner) {
        owner.tenant = tenant;
        owner.names.add(name);
      } else owners.set(tenant.id, { tenant, names: new Set([name]) });
      return kept;
    },
    forget(tenant, touched) {
      const forgotten: string[] = [];
      for (const name of owners.get(tenant)?.names ?? []) {
        const known = keys.peek(name);
        if (known && touched(known)) forgotten.push(name);
      }
      for (const name of forgotten) keys.delete(name);
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

/** Of what a look-up brought, the part that judging takes. */
export function createKnownKey(
  { tenant: read, key, secret }: FoundToKeep,
  tenant: KnownKey['tenant'] = read,
): KnownKey {
  return {
    tenant,
    key: {
      id: key.id,
      label: key.label,
      scopes: key.scopes,
      created_at: key.created_at,
      expires_at: key.expires_at,
      revoked_at: key.revoked_at,
      signing_version: key.signing_version,
      usedAt: undefined,
    },
    secret:
      !secret || (secret.expires_at === null && secret.ended_at === null)
        ? lasting
        : { expires_at: secret.expires_at, ended_at: secret.ended_at },
  };
}

function* each(owners: Map<string, Owner>): Generator<string> {
  for (const { names } of owners.values()) yield* names;
}
