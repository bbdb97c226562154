import type { Now } from '../after.js';
import { DatabaseError } from '../database/database-error.js';
import { GatewayError } from '../errors.js';
import { createChangeFeed } from './change-feed.js';
import { createGrowingLru } from './growing-lru.js';
import { type CachedKey, createKeyCache, type KnownKey } from './key-cache.js';
import { parseKey } from './key-format.js';
import { createKeyLookup } from './key-lookup.js';
import { createLastUsed } from './last-used.js';
import type { Key, Tenant } from './model.js';
import type { Change, KeyStore } from './store.js';
import { keyState, secretEnded } from './views.js';

export interface ActiveKey {
  state: 'active';
  tenant: Pick<Tenant, 'id' | 'name' | 'limits' | 'weight'>;
  key: Pick<Key, 'id' | 'label' | 'scopes'>;
}

export type KeyVerdict = ActiveKey | { state: 'malformed' | 'unknown' | 'expired' | 'revoked' };

export interface KeyVerifierOptions {
  store: KeyStore;
  /** Keys kept in memory; any other costs a look-up. Default 100,000. */
  cacheSize?: number;
  /** Wall clock, ms: judges expiry, and nothing else. */
  now?: () => number;
  /** A clock that never jumps, ms: judges the age of what is cached. */
  monotonic?: () => number;
  /** Between two looks at other processes' changes, ms. */
  pollInterval?: number;
  /** Between two writes of when keys were last used, ms. */
  lastUsedInterval?: number;
  /** Called once when the database stops answering, with the reason, and once when it is back. */
  onDown?: (error: unknown) => void;
  onUp?: () => void;
}

export interface KeyVerifier {
  /** Judges what a caller sent as its key. Rejects with `keys_unavailable` where nobody can tell at the moment. */
  verify(text: string): Now<KeyVerdict>;
  /** Looks for other processes' changes now. */
  refresh(): Promise<void>;
  /** Whether the database answers. */
  available(): boolean;
  /** Writes what is left; the store stays open. */
  close(): Promise<void>;
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

/**
 * Verifies keys from a cache that follows every change: this process's own at once, others' by polling. Cached by the key's
 * hash, never by the key. Invented keys have a cache of their own, so that a flood of them displaces no good one.
 */
export function createKeyVerifier(options: KeyVerifierOptions): KeyVerifier {
  const { store, now = Date.now, monotonic = () => performance.now(), cacheSize = 100_000 } = options;
  const known = createKeyCache(cacheSize);
  const createUnknown = () => createGrowingLru<Read>(mostUnknown);
  let unknown = createUnknown();
  // A fifth of what `last_used_at` may be behind is left for the writing.
  const lastUsed = createLastUsed(store, options.lastUsedInterval ?? 4_000, cacheSize);
  // Rises with every change. A read that began before one may bring what was true before it, and is not cached.
  let epoch = 0;
  const find = createKeyLookup(store, () => ({ epoch, at: monotonic() }));

  const feed = createChangeFeed({
    store,
    monotonic,
    interval: options.pollInterval ?? 1_000,
    onChanges: drop,
    onReset: () => reread(() => known.clear()),
    onDown: (error) => options.onDown?.(error),
    onUp: () => options.onUp?.(),
  });
  const stopListening = store.onChange(drop);

  function drop(all: Pick<Change, 'tenant_id' | 'key_id'>[]): void {
    // The log tells of people too: who signs in changes nothing here, and must not cost what is cached.
    const changes = all.filter(({ tenant_id, key_id }) => tenant_id !== null || key_id !== null);
    if (changes.length === 0) return;
    const keys = new Set(changes.map((change) => change.key_id));
    // A change that names no key is one of the tenant itself, and so of what every key of it may do.
    const whole = new Set(
      changes.filter((change) => change.key_id === null).map(({ tenant_id }) => tenant_id),
    );
    const tenants = new Set(changes.flatMap(({ tenant_id }) => tenant_id ?? []));
    reread(() =>
      [...tenants].flatMap((tenant) =>
        known.forget(tenant, whole.has(tenant) ? () => true : ({ key }) => keys.has(key.id)),
      ),
    );
  }

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
  async function loadAgain(hashes: Iterable<string>): Promise<void> {
    let some: Promise<unknown>[] = [];
    try {
      for (const hash of hashes) {
        if (known.has(hash) || some.push(load(hash)) < rereadAtOnce) continue;
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

  /** Against the clock of this very call: a key runs out while it is cached. */
  function judge(found: KnownKey | undefined): KeyVerdict {
    if (!found) return { state: 'unknown' };
    const { secret, key, tenant } = found;
    const at = now();
    const state = keyState(key, at);
    if (state !== 'active') return { state };
    if (secretEnded(secret, at)) return { state: 'expired' };
    lastUsed.note(key, at);
    const { id, name, limits, weight } = tenant;
    return {
      state: 'active',
      tenant: { id, name, limits, weight },
      key: { id: key.id, label: key.label, scopes: key.scopes },
    };
  }

  function fallBack(hash: string, cause?: unknown): KeyVerdict {
    const cached = known.get(hash);
    if (trustedFor(cached, outageMs)) return judge(cached);
    // Who calls the API is told of keys, and not of a database.
    if (cause instanceof DatabaseError) throw new GatewayError('keys_unavailable', { cause: cause.cause });
    throw cause instanceof GatewayError ? cause : new GatewayError('keys_unavailable', { cause });
  }

  async function read(hash: string): Promise<KeyVerdict> {
    // No caller waits for a database that is known to be away; the feed finds out when it is back.
    if (feed.isDown()) return fallBack(hash);
    try {
      return judge(await load(hash));
    } catch (error) {
      noteFailure(error);
      return fallBack(hash, error);
    }
  }

  async function load(hash: string): Promise<KnownKey | undefined> {
    const asked = epoch;
    let { found, mark } = await findInTime(hash);
    // The answer of a read that began before a change which this caller may know of.
    while (mark.epoch < asked) ({ found, mark } = await findInTime(hash));
    if (mark.epoch !== epoch) return found;
    if (found) known.set(hash, found, mark.at);
    else unknown.set(hash, { readAt: mark.at });
    return found;
  }

  function noteFailure(error: unknown): void {
    // Not so a look-up that was refused for there being too many.
    if (error instanceof DatabaseError) feed.reportFailure(error);
  }

  function findInTime(hash: string): ReturnType<typeof find> {
    const found = find(hash);
    if (!known.has(hash)) return found;
    const late = new Error(`The database did not answer within ${patienceMs} ms.`);
    return withTimeout(found, patienceMs, new DatabaseError(late));
  }

  return {
    verify(text) {
      const digest = parseKey(text);
      if (!digest) return { state: 'malformed' };
      const { hash } = digest;
      const cached = known.get(hash);
      if (trustedFor(cached, freshMs)) return judge(cached);
      if (!cached && !feed.isDown() && trustedFor(unknown.get(hash), freshMs)) return { state: 'unknown' };
      return read(hash);
    },
    refresh: () => feed.poll(),
    available: () => !feed.isDown(),
    async close() {
      stopListening();
      feed.close();
      await lastUsed.close();
    },
  };
}

async function withTimeout<T>(work: Promise<T>, ms: number, late: Error): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const timeout = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(reject, ms, late);
  });
  return Promise.race([work, timeout]).finally(() => clearTimeout(timer));
}
