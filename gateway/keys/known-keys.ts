import type { Now } from '../after.js';
import { DatabaseError } from '../database/database-error.js';
import { GatewayError } from '../errors.js';
import type { ChangeFeed } from './change-feed.js';
import { createGrowingLru } from './growing-lru.js';
import {
  type CachedKey,
  createKeyCache,
  createKnownKey,
  type FoundToKeep,
  type KnownKey,
} from './key-cache.js';
import { createKeyLookup, type KeyReading } from './key-lookup.js';

export interface KnownKeysOptions<Found> extends KeyReading<Found> {
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
export interface KnownKeys {
  /** Undefined where there is none. Rejects with `keys_unavailable` where nobody can tell at the moment. */
  find(name: string): Now<KnownKey | undefined>;
  /** As it is now, of which the caller has reason to think that it changed this moment; rejects likewise. */
  findAgain(name: string): Promise<KnownKey | undefined>;
  /** Believes nothing of these any more. */
  drop(touched: readonly Touched[]): void;
  /** Believes nothing. */
  reset(): void;
}

/** Monotonic time at which a read began. */
type Read = Pick<CachedKey, 'readAt'>;

const mostUnknown = 10_000;
/** Keys that are read again at once after a change; one look-up takes as many. */
const rereadAtOnce = 100;
/** What is known to be true this recently needs no read. With polls every second, only a slow database makes one. */
const freshMs = 3_000;
/** A database that leaves a known key waiting for longer counts as away. With the above, below five seconds. */
const patienceMs = 1_500;
/** How long known keys go on working while the database is away: the bound on how late a revocation can come. */
const outageMs = 5 * 60_000;

/** Keeps the keys used last. Invented names have a cache of their own, so that a flood of them displaces no good one. */
export function createKnownKeys<Found extends FoundToKeep>(options: KnownKeysOptions<Found>): KnownKeys {
  const { feed, monotonic } = options;
  const known = createKeyCache(options.most);
  const createUnknown = () => createGrowingLru<Read>(mostUnknown);
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

  function trustedFor<T extends Read>(cached: T | undefined, span: number): cached is T {
    return cached !== undefined && monotonic() - Math.max(cached.readAt, feed.confirmedAt()) <= span;
  }

  function fallBack(name: string, cause?: unknown): KnownKey {
    const cached = known.get(name);
    if (trustedFor(cached, outageMs)) return cached;
    // Who calls the API is told of keys, and not of a database.
    if (cause instanceof DatabaseError) throw new GatewayError('keys_unavailable', { cause: cause.cause });
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
    if (error instanceof DatabaseError) feed.reportFailure(error);
  }

  function lookInTime(name: string): ReturnType<typeof look> {
    const found = look(name);
    if (!known.has(name)) return found;
    const late = new Error(`The database did not answer within ${patienceMs} ms.`);
    return withTimeout(found, patienceMs, new DatabaseError(late));
  }

  return {
    find(name) {
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
