import { isDeepStrictEqual } from 'node:util';
import { LRUCache } from 'lru-cache';
import { database, StoreError } from '../database/store-error.js';
import { GatewayError } from '../errors.js';
import type { ChangeFeed } from './change-feed.js';
import type { UsedKey } from './last-used.js';
import type { FoundKey, Key, Secret, Tenant } from './model.js';

interface KnownKeysOptions<Found> extends KeyReading<Found> {
  /** Keys kept in memory. */
  most: number;
  /** A clock that never jumps, ms. */
  monotonic: () => number;
  feed: Pick<ChangeFeed, 'confirmedAt' | 'isDown' | 'reportFailure'>;
}

/** The keys of a tenant that something was changed of. */
export interface Touched {
  tenant: string;
  touches: (known: KnownKey) => boolean;
}

/** Keys as they are known by one kind of name: a secret's hash, or a key's id. */
interface KnownKeys {
  /** Undefined where there is none. Rejects with `keys_unavailable` where nobody can tell at the moment. */
  find(name: string): Promise<KnownKey | undefined>;
  /** As it is now, of which the caller has reason to think that it changed this moment; rejects likewise. */
  findAgain(name: string): Promise<KnownKey | undefined>;
  /** Believes nothing of these any more. */
  drop(touched: readonly Touched[]): void;
  /** Believes nothing. */
  reset(): void;
}

/** Monotonic time at which a read began. */
type ReadMoment = Pick<CachedKey, 'readAt'>;

const maxUnknown = 10_000;
/** Keys that are read again at once after a change; one look-up takes as many. */
const rereadAtOnce = 100;
/** What is known to be true this recently needs no read. With polls every second, only a slow database makes one. */
const freshMs = 3_000;
/** A database that leaves a known key waiting for longer counts as away. With the above, below five seconds. */
const readTimeoutMs = 1_500;
/** How long known keys go on working while the database is away: the bound on how late a revocation can come. */
const outageMs = 5 * 60_000;

/** Keeps the keys used last. Invented names have a cache of their own, so that a flood of them displaces no good one. */
export function createKnownKeys<Found extends CacheableKey>(options: KnownKeysOptions<Found>): KnownKeys {
  const { feed, monotonic } = options;
  const known = createKeyCache(options.most);
  const createUnknown = () => createGrowingLru<ReadMoment>(maxUnknown);
  let unknown = createUnknown();
  // Rises with every change. A read that began before one may bring what was true before it, and is not cached.
  let epoch = 0;
  const look = createKeyLookup(options, () => ({ epoch, at: monotonic() }));

  /**
   * Forgets what may have changed, and reads it again: a key in use stays known, should the database go away before its
   * next call. Until that is read, nothing of it is believed.
   */
  function reread(forget: () => Iterable<string>): void {
    epoch += 1;
    unknown = createUnknown();
    void loadAgain(forget());
  }

  /** A few at a time: what a caller waits for is not to stand behind all that were known. */
  async function loadAgain(names: Iterable<string>): Promise<void> {
    let some: Promise<unknown>[] = [];
    try {
      for (const name of names) {
        if (known.has(name) || some.push(load(name)) < rereadAtOnce) continue;
        await Promise.all(some);
        some = [];
      }
      await Promise.all(some);
    } catch (error) {
      noteFailure(error);
    }
  }

  function trustedFor<T extends ReadMoment>(cached: T | undefined, span: number): cached is T {
    return cached !== undefined && monotonic() - Math.max(cached.readAt, feed.confirmedAt()) <= span;
  }

  function fallBack(name: string, cause?: unknown): KnownKey {
    const cached = known.get(name);
    if (trustedFor(cached, outageMs)) return cached;
    // Who calls the API is told of keys, and not of a database.
    if (cause instanceof StoreError) throw new GatewayError('keys_unavailable', { cause: cause.cause });
    throw cause instanceof GatewayError ? cause : new GatewayError('keys_unavailable', { cause });
  }

  async function read(name: string): Promise<KnownKey | undefined> {
    // No caller waits for a database that is known to be away; the feed finds out when it is back.
    if (feed.isDown()) return fallBack(name);
    try {
      return await load(name);
    } catch (error) {
      noteFailure(error);
      return fallBack(name, error);
    }
  }

  async function load(name: string): Promise<KnownKey | undefined> {
    const asked = epoch;
    let { found, mark } = await lookInTime(name);
    // The answer of a read that began before a change which this caller may know of.
    while (mark.epoch < asked) ({ found, mark } = await lookInTime(name));
    if (!found) {
      if (mark.epoch === epoch) unknown.set(name, { readAt: mark.at });
      return undefined;
    }
    return mark.epoch === epoch ? known.set(name, found, mark.at) : createKnownKey(found);
  }

  function noteFailure(error: unknown): void {
    // Not so a look-up that was refused for there being too many.
    if (error instanceof StoreError) feed.reportFailure(error);
  }

  function lookInTime(name: string): ReturnType<typeof look> {
    const found = look(name);
    if (!known.has(name)) return found;
    const late = new Error(`The database did not answer within ${readTimeoutMs} ms.`);
    return withTimeout(found, readTimeoutMs, new StoreError(database, late));
  }

  return {
    async find(name) {
      const cached = known.get(name);
      if (trustedFor(cached, freshMs)) return cached;
      if (!cached && !feed.isDown() && trustedFor(unknown.get(name), freshMs)) return undefined;
      return read(name);
    },
    findAgain(name) {
      epoch += 1;
      return read(name);
    },
    drop: (touched) => reread(() => touched.flatMap(({ tenant, touches }) => known.forget(tenant, touches))),
    reset: () => reread(() => known.clear()),
  };
}

async function withTimeout<T>(work: Promise<T>, ms: number, late: Error): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const timeout = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(reject, ms, late);
  });
  return Promise.race([work, timeout]).finally(() => clearTimeout(timer));
}

/** What judging a key takes; of all that a look-up brings, the part that is worth its memory. */
export interface KnownKey {
  tenant: Pick<Tenant, 'id' | 'name' | 'limits' | 'weight'>;
  key: UsedKey & Pick<Key, 'label' | 'scopes' | 'expires_at' | 'revoked_at' | 'signing_version'>;
  secret: Pick<Secret, 'expires_at' | 'ended_at'>;
}

interface CachedKey extends KnownKey {
  /** Monotonic time at which its read began. */
  readAt: number;
}

/** What a read brought of a key: by its hash with the secret that was sent, by its id without one. */
type CacheableKey = FoundKey & { secret?: Secret };

/** The keys that were seen lately, by their hash or their id and never by the key itself. */
interface KeyCache {
  get(name: string): CachedKey | undefined;
  has(name: string): boolean;
  /** Returns what is kept of it. */
  set(name: string, found: CacheableKey, readAt: number): KnownKey;
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
const defaultLimits: KnownKey['tenant']['limits'] = {
  rate: null,
  burst: null,
  monthly_quota: null,
  in_flight: null,
};
const lastingSecret: KnownKey['secret'] = { expires_at: null, ended_at: null };

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
    const read = {
      id,
      name,
      limits: isDeepStrictEqual(limits, defaultLimits) ? defaultLimits : limits,
      weight,
    };
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
      return namesOf(all);
    },
  };
}

/** Of what a look-up brought, the part that judging takes. */
function createKnownKey(
  { tenant: read, key, secret }: CacheableKey,
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
        ? lastingSecret
        : { expires_at: secret.expires_at, ended_at: secret.ended_at },
  };
}

function* namesOf(owners: Map<string, Owner>): Generator<string> {
  for (const { names } of owners.values()) yield* names;
}

/**
 * A cache of at most `most` entries, the ones used last; `onGone` gets those that were evicted or deleted. It takes memory as it
 * fills: with the library's own `max`, a new cache of 100,000 holds the event loop for 15 ms, and caches are made anew with changes.
 */
export function createGrowingLru<Value extends object>(
  most: number,
  onGone?: (value: Value, key: string) => void,
): LRUCache<string, Value> {
  return new LRUCache<string, Value>({
    maxSize: most,
    sizeCalculation: () => 1,
    ...(onGone && {
      dispose(value, key, reason) {
        if (reason !== 'set') onGone(value, key);
      },
    }),
  });
}

/** How keys are found by one kind of name: a secret's hash, or a key's id. */
interface KeyReading<Found> {
  /** What belongs to these names, in one read. */
  read: (names: string[]) => Promise<Found[]>;
  nameOf: (found: Found) => string;
}

/** What a read brought, and the mark that was taken when it began. */
interface LookedUp<Found, Mark> {
  found: Found | undefined;
  mark: Mark;
}

interface Waiting<Result> {
  resolve: (result: Result) => void;
  reject: (error: unknown) => void;
  promise: Promise<Result>;
}

/** Names in one read, and reads at once. */
const batchSize = 100;
const concurrency = 2;
/** Beyond this many names waiting, a look-up is refused: anybody can invent keys with a right checksum, and ids. */
const maxWaiting = 5_000;

/**
 * Finds keys that are not cached. Whoever asks for a name that is being looked up shares the
 * answer (its mark tells how old that is), and names that come while the database is busy go into one read together: a
 * flood of invented keys costs a few reads at a time, and a good key behind it waits for those only.
 */
function createKeyLookup<Found, Mark>(reading: KeyReading<Found>, takeMark: () => Mark) {
  type Result = LookedUp<Found, Mark>;
  const waiting = new Map<string, Waiting<Result>>();
  const running = new Map<string, Waiting<Result>>();
  let reads = 0;

  function pump(): void {
    if (reads >= concurrency || waiting.size === 0) return;
    const batch = new Map([...waiting].slice(0, batchSize));
    for (const [name, waiter] of batch) {
      waiting.delete(name);
      running.set(name, waiter);
    }
    reads += 1;
    void read(batch).finally(() => {
      reads -= 1;
      pump();
    });
  }

  async function read(batch: Map<string, Waiting<Result>>): Promise<void> {
    const mark = takeMark();
    try {
      for (const found of await reading.read([...batch.keys()])) {
        batch.get(reading.nameOf(found))?.resolve({ found, mark });
      }
      for (const waiter of batch.values()) waiter.resolve({ found: undefined, mark });
    } catch (error) {
      for (const waiter of batch.values()) waiter.reject(error);
    } finally {
      for (const name of batch.keys()) running.delete(name);
    }
  }

  return function find(name: string): Promise<Result> {
    const same = waiting.get(name) ?? running.get(name);
    if (same) return same.promise;
    if (waiting.size >= maxWaiting) {
      return Promise.reject(new GatewayError('keys_unavailable', { retryAfter: 1 }));
    }
    const waiter = createWaiting<Result>();
    waiting.set(name, waiter);
    queueMicrotask(pump);
    return waiter.promise;
  };
}

function createWaiting<Result>(): Waiting<Result> {
  let resolve: Waiting<Result>['resolve'] = () => {};
  let reject: Waiting<Result>['reject'] = () => {};
  const promise = new Promise<Result>((yes, no) => {
    resolve = yes;
    reject = no;
  });
  return { resolve, reject, promise };
}
