import { isDeepStrictEqual } from 'node:util';
import { LRUCache } from 'lru-cache';
import { limitConcurrency } from '../../pool/concurrency.js';
import { createFlusher } from '../database/batch-writer.js';
import { rowsPerTransaction, sortYielding } from '../database/rows.js';
import { database, StoreError } from '../database/store-error.js';
import { GatewayError } from '../errors.js';
import {
  type FoundKey,
  type FoundSecret,
  type Key,
  limitsInForce,
  noKeyLimits,
  noLimits,
  type Secret,
  type Tenant,
  type TenantInForce,
  weightInForce,
} from './model.js';
import type { KeyStore } from './store.js';

/** The part of a look-up that verifying a key needs, and that is worth its memory. */
export interface KnownKey {
  tenant: TenantInForce & { isSuspended: boolean };
  key: UsedKey & Omit<Key, 'id' | 'tenant_id' | 'created_at' | 'last_used_at'>;
  secret: Pick<Secret, 'expires_at' | 'ended_at'>;
}

/** What a read found of a key: by its hash with the secret that was sent, by its id without one. */
type CacheableKey = FoundKey & Partial<FoundSecret>;

/** Monotonic time at which the read began. */
type ReadMoment = { readAt: number };

type CachedKey = KnownKey & ReadMoment;

interface KeyFinderOptions<Found> {
  /** What belongs to these names, in one read. */
  read: (names: string[]) => Promise<Found[]>;
  nameOf: (found: Found) => string;
  /** Keys in memory. */
  max: number;
  /** A clock that never jumps, ms. */
  monotonic: () => number;
  /** The verifier's feed of changes. */
  feed: { confirmedAt: () => number; isDown: () => boolean; reportFailure: (error: unknown) => void };
}

/** The keys of a tenant that a change concerns. */
export type Touched = { tenant: string; touches: (known: KnownKey) => boolean };

const maxUnknown = 10_000;
/** Keys that are read again at once after a change; one look-up reads as many. */
const rereadAtOnce = 100;
/** What is known to be true this recently needs no read. With polls every second, a slow database alone makes one. */
export const freshMs = 3_000;
/** A database that leaves a known key waiting for longer counts as down. With the above, below five seconds. */
const readTimeoutMs = 1_500;
/** How long known keys work while the database is down: the bound on how late a revocation can take effect. */
export const outageMs = 5 * 60_000;

/** Finds and caches keys by hash or id. Unknown names have their own cache: a flood of them evicts no key. */
export function createKeyFinder<Found extends CacheableKey>(options: KeyFinderOptions<Found>) {
  const { feed, monotonic } = options;
  const known = createKeyCache(options.max);
  const createUnknown = () => createGrowingLru<ReadMoment>(maxUnknown);
  let unknown = createUnknown();
  // Rises with every change. A read that began before one may bring what was true before it, and is not cached.
  let epoch = 0;
  const lookUp = createKeyLookup(options, () => ({ epoch, readAt: monotonic() }));

  /** Reads again what may have changed, so that a key in use stays known in an outage; in batches. */
  async function reread(forget: () => Iterable<string>): Promise<void> {
    epoch += 1;
    unknown = createUnknown();
    let batch: Promise<unknown>[] = [];
    try {
      for (const name of forget()) {
        if (known.has(name) || batch.push(load(name)) < rereadAtOnce) continue;
        await Promise.all(batch);
        batch = [];
      }
      await Promise.all(batch);
    } catch (error) {
      reportFailure(error);
    }
  }

  function isTrusted<T extends ReadMoment>(cached: T | undefined, span: number): cached is T {
    return cached !== undefined && monotonic() - Math.max(cached.readAt, feed.confirmedAt()) <= span;
  }

  function fallBack(name: string, cause?: unknown): KnownKey {
    const cached = known.get(name);
    if (isTrusted(cached, outageMs)) return cached;
    // Clients of the API learn about keys, and not about a database.
    if (cause instanceof StoreError) throw new GatewayError('keys_unavailable', { cause: cause.cause });
    throw cause instanceof GatewayError ? cause : new GatewayError('keys_unavailable', { cause });
  }

  async function read(name: string): Promise<KnownKey | undefined> {
    // No caller waits for a database that is known to be down; the feed notices when it is back.
    if (feed.isDown()) return fallBack(name);
    try {
      return await load(name);
    } catch (error) {
      reportFailure(error);
      return fallBack(name, error);
    }
  }

  async function load(name: string): Promise<KnownKey | undefined> {
    const asked = epoch;
    let result = await lookUpInTime(name);
    // The result of a read that began before a change which this caller may know of.
    while (result.epoch < asked) result = await lookUpInTime(name);
    const { found, readAt } = result;
    const isCurrent = result.epoch === epoch;
    if (found) return isCurrent ? known.set(name, found, readAt) : toKnownKey(found);
    if (isCurrent) unknown.set(name, { readAt });
    return undefined;
  }

  function reportFailure(error: unknown): void {
    // A look-up that was refused because of too many others is no failure of the database.
    if (error instanceof StoreError) feed.reportFailure(error);
  }

  function lookUpInTime(name: string): ReturnType<typeof lookUp> {
    const result = lookUp(name);
    return known.has(name) ? readInTime(result) : result;
  }

  return {
    /** Undefined where there is none. Rejects with `keys_unavailable` where it cannot be known at the moment. */
    async find(name: string): Promise<KnownKey | undefined> {
      const cached = known.get(name);
      if (isTrusted(cached, freshMs)) return cached;
      if (!cached && !feed.isDown() && isTrusted(unknown.get(name), freshMs)) return undefined;
      return read(name);
    },
    /** Reads a key that the caller has reason to believe changed this moment; rejects likewise. */
    findAgain(name: string): Promise<KnownKey | undefined> {
      epoch += 1;
      return read(name);
    },
    /** Trusts these no longer. */
    drop(touched: readonly Touched[]): void {
      void reread(() => touched.flatMap(({ tenant, touches }) => known.forget(tenant, touches)));
    },
    /** Trusts nothing that was read. */
    reset(): void {
      void reread(() => known.clear());
    },
  };
}

/** Rejects with a `StoreError` where a read of what is known already takes too long. */
export function readInTime<T>(read: Promise<T>): Promise<T> {
  const problem = new Error(`The database did not answer within ${readTimeoutMs} ms.`);
  const late = new StoreError(database, problem);
  let timer: NodeJS.Timeout | undefined;
  const timeout = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(reject, readTimeoutMs, late);
  });
  return Promise.race([read, timeout]).finally(() => clearTimeout(timer));
}

/** Names in one read, and reads at once. */
const batchSize = 100;
const maxReads = 2;
/** Beyond this many names being read, a look-up is refused: anybody can invent keys with a right checksum, and ids. */
const maxLookups = 5_200;

/** Reads keys in batches, one read for each name: a flood of invented keys costs a few reads at a time. */
function createKeyLookup<Found, Mark>({ read, nameOf }: KeyFinderOptions<Found>, createMark: () => Mark) {
  const lookups = new Map<string, Promise<Mark & { found: Found | undefined }>>();
  const limitReads = limitConcurrency(maxReads);
  let batch = createBatch();

  function createBatch() {
    const names: string[] = [];
    let started: Promise<{ mark: Mark; found: Map<string, Found> }> | undefined;
    /** Reads all names that were added until the database is ready for them. */
    async function run() {
      await null;
      if (batch.names === names) batch = createBatch();
      const mark = createMark();
      const found = await read(names);
      return { mark, found: new Map(found.map((each) => [nameOf(each), each])) };
    }
    return {
      names,
      async add(name: string) {
        names.push(name);
        started ??= limitReads(run);
        const { mark, found } = await started;
        return { ...mark, found: found.get(name) };
      },
    };
  }

  return function lookUp(name: string): Promise<Mark & { found: Found | undefined }> {
    const shared = lookups.get(name);
    if (shared) return shared;
    if (lookups.size >= maxLookups) {
      return Promise.reject(new GatewayError('keys_unavailable', { retryAfter: 1 }));
    }
    if (batch.names.length >= batchSize) batch = createBatch();
    const lookup = batch.add(name);
    const forget = () => lookups.delete(name);
    lookup.then(forget, forget);
    lookups.set(name, lookup);
    return lookup;
  };
}

/** A tenant and its cached keys, which share this one object of it: copies would crowd the CPU's caches. */
type Owner = { tenant: KnownKey['tenant']; names: Set<string> };

/** What most secrets have; one object for all of them. */
const lastingSecret: KnownKey['secret'] = { expires_at: null, ended_at: null };

/** The `max` keys used last, by hash or id and never by the key itself; some 0.4 KB each. */
export function createKeyCache(max: number) {
  let keys = createKeys();
  let owners = new Map<string, Owner>();

  function createKeys(): LRUCache<string, CachedKey> {
    return createGrowingLru(max, ({ tenant: { id } }, name) => {
      const owner = owners.get(id);
      owner?.names.delete(name);
      if (owner?.names.size === 0) owners.delete(id);
    });
  }

  /** As it was read: a change that one key's read knows of is not yet another's. */
  function shareTenant(tenant: Tenant): KnownKey['tenant'] {
    const read = knownTenant(tenant);
    const known = owners.get(read.id)?.tenant;
    return known && isDeepStrictEqual(known, read) ? known : read;
  }

  return {
    get: (name: string): CachedKey | undefined => keys.get(name),
    has: (name: string): boolean => keys.has(name),
    /** Returns what is cached of it. */
    set(name: string, found: CacheableKey, readAt: number): KnownKey {
      const tenant = shareTenant(found.tenant);
      const cached = { ...toKnownKey(found, tenant), readAt };
      keys.set(name, cached);
      // Only now: the key that was evicted for it may have been the tenant's only one.
      const owner = owners.get(tenant.id);
      if (owner) {
        owner.tenant = tenant;
        owner.names.add(name);
      } else owners.set(tenant.id, { tenant, names: new Set([name]) });
      return cached;
    },
    /** Forgets the keys of a tenant for which `touches` is true, and returns their names. */
    forget(tenant: string, touches: (known: KnownKey) => boolean): string[] {
      const forgotten = [...(owners.get(tenant)?.names ?? [])].filter((name) => {
        const known = keys.peek(name);
        return known && touches(known);
      });
      for (const name of forgotten) keys.delete(name);
      return forgotten;
    },
    /** Forgets everything, and returns the names, one by one: listing them all would take long. */
    clear(): Iterable<string> {
      const all = owners.values();
      // Emptying a large one takes longer than making another.
      keys = createKeys();
      owners = new Map();
      return namesOf(all);
    },
  };
}

function* namesOf(owners: Iterable<Owner>): Generator<string> {
  for (const { names } of owners) yield* names;
}

function knownTenant(tenant: Tenant): KnownKey['tenant'] {
  const { id, name, suspended_at } = tenant;
  const limits = limitsInForce(tenant);
  const shared = isDeepStrictEqual(limits, noLimits) ? noLimits : limits;
  return { id, name, limits: shared, weight: weightInForce(tenant), isSuspended: suspended_at !== null };
}

function toKnownKey(
  { tenant: read, key, secret }: CacheableKey,
  tenant: KnownKey['tenant'] = knownTenant(read),
): KnownKey {
  const { id, label, scopes, created_at, expires_at, revoked_at, paused_at, signing_version } = key;
  const limits = isDeepStrictEqual(key.limits, noKeyLimits) ? noKeyLimits : key.limits;
  const lasts = !secret || (secret.expires_at === null && secret.ended_at === null);
  return {
    tenant,
    key: {
      ...{ id, label, scopes, limits, created_at, expires_at, revoked_at, paused_at, signing_version },
      usedAt: undefined,
    },
    secret: lasts ? lastingSecret : { expires_at: secret.expires_at, ended_at: secret.ended_at },
  };
}

/** An LRU that grows as it fills: with the library's `max`, making one of 100,000 takes 15 ms at once. */
export function createGrowingLru<Value extends object>(
  max: number,
  onRemoved?: (value: Value, key: string) => void,
): LRUCache<string, Value> {
  return new LRUCache<string, Value>({
    maxSize: max,
    sizeCalculation: () => 1,
    dispose: (value, key, reason) => reason !== 'set' && onRemoved?.(value, key),
  });
}

/** A key as its users hold it, one object for as long as they know it. */
export interface UsedKey extends Pick<Key, 'id' | 'created_at'> {
  /** When it was used (ms), until that is written. On the key: a table would cost each call a look-up. */
  usedAt?: number | undefined;
}

/** Writes every `interval` (ms) when keys were used, by age: in no order SQLite would touch six times the pages. */
export function createLastUsed(store: Pick<KeyStore, 'touch'>, interval: number, max: number) {
  let noted: UsedKey[] = [];
  const { flush, stop } = createFlusher(write, interval);

  /** Notes that a key was used at `at` (wall clock, ms); costs no read and no write. */
  function note(key: UsedKey, at: number): void {
    if (key.usedAt === undefined) {
      if (noted.length >= max) return;
      noted.push(key);
    }
    key.usedAt = at;
  }

  async function write(): Promise<void> {
    const previous = noted;
    noted = [];
    let left = await sortYielding(previous, byAge);
    while (left.length > 0) {
      const batch = left.slice(0, rowsPerTransaction);
      const uses = collectUses(batch);
      try {
        await store.touch(uses);
      } catch {
        // The change feed already says that the database is down; these times are worth no second line in the log.
        // A key used again meanwhile waits already.
        const back = batch.filter((key) => key.usedAt === undefined);
        for (const key of back) key.usedAt = uses.get(key.id);
        return putBack([...back, ...left.slice(rowsPerTransaction)]);
      }
      left = left.slice(rowsPerTransaction);
    }
  }

  function putBack(left: UsedKey[]): void {
    const free = max - noted.length;
    for (const key of left.slice(free)) key.usedAt = undefined;
    noted = noted.concat(left.slice(0, free));
  }

  return {
    note,
    flush,
    /** Writes what is left. */
    async close(): Promise<void> {
      stop();
      await flush();
    },
  };
}

/** Removes the times from the keys. A key that was evicted and read again is there twice: the later time counts. */
function collectUses(keys: UsedKey[]): Map<string, number> {
  const uses = new Map<string, number>();
  for (const key of keys) {
    if (key.usedAt === undefined) continue;
    uses.set(key.id, Math.max(key.usedAt, uses.get(key.id) ?? 0));
    key.usedAt = undefined;
  }
  return uses;
}

function byAge(a: UsedKey, b: UsedKey): number {
  if (a.created_at !== b.created_at) return a.created_at - b.created_at;
  return a.id < b.id ? -1 : 1;
}
