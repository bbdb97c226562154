import { LRUCache } from 'lru-cache';

import { DatabaseError } from '../database/database-error.js';
import { GatewayError } from '../errors.js';
import { createChangeFeed } from './change-feed.js';
import { parseKey } from './key-format.js';
import { createKeyLookup } from './key-lookup.js';
import { createLastUsed } from './last-used.js';
import type { FoundSecret, Key, Tenant } from './model.js';
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
  verify(text: string): Promise<KeyVerdict>;
  /** Looks for other processes' changes now. */
  refresh(): Promise<void>;
  /** Whether the database answers. */
  available(): boolean;
  /** Writes what is left; the store stays open. */
  close(): Promise<void>;
}

interface Cached {
  /** Undefined: no such key. */
  found: FoundSecret | undefined;
  /** Monotonic time at which its read began. */
  readAt: number;
}

const mostCached = 10_000;
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
  const { store, now = Date.now, monotonic = () => performance.now() } = options;
  const known = new LRUCache<string, Cached>({ max: mostCached });
  const unknown = new LRUCache<string, Cached>({ max: mostCached });
  const lastUsed = createLastUsed(store, options.lastUsedInterval ?? 5_000);
  // Rises with every change. A read that began before one may bring what was true before it, and is not cached.
  let epoch = 0;
  const find = createKeyLookup(store, () => ({ epoch, at: monotonic() }));

  const feed = createChangeFeed({
    store,
    monotonic,
    interval: options.pollInterval ?? 1_000,
    onChanges: drop,
    onReset: () => reread(() => true),
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
    const tenants = new Set(
      changes.filter((change) => change.key_id === null).map(({ tenant_id }) => tenant_id),
    );
    reread(({ key, tenant }) => keys.has(key.id) || tenants.has(tenant.id));
  }

  /**
   * Forgets what may have changed, and reads it again at once: a key in use stays known, should the database go away
   * before its next call. Until that is read, nothing of it is believed.
   */
  function reread(touched: (found: FoundSecret) => boolean): void {
    epoch += 1;
    unknown.clear();
    for (const [hash, { found }] of [...known.entries()]) {
      if (!found || !touched(found)) continue;
      known.delete(hash);
      load(hash).catch((error) => noteFailure(error));
    }
  }

  function trustedFor(cached: Cached | undefined, span: number): cached is Cached {
    return cached !== undefined && monotonic() - Math.max(cached.readAt, feed.confirmedAt()) <= span;
  }

  /** Against the clock of this very call: a key runs out while it is cached. */
  function judge(found: FoundSecret | undefined): KeyVerdict {
    if (!found) return { state: 'unknown' };
    const { secret, key, tenant } = found;
    const at = now();
    const state = keyState(key, at);
    if (state !== 'active') return { state };
    if (secretEnded(secret, at)) return { state: 'expired' };
    lastUsed.note(key.id, at);
    const { id, name, limits, weight } = tenant;
    return {
      state: 'active',
      tenant: { id, name, limits, weight },
      key: { id: key.id, label: key.label, scopes: key.scopes },
    };
  }

  function fallBack(hash: string, cause?: unknown): KeyVerdict {
    const cached = known.get(hash);
    if (trustedFor(cached, outageMs)) return judge(cached.found);
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

  async function load(hash: string): Promise<FoundSecret | undefined> {
    const asked = epoch;
    let { found, mark } = await findInTime(hash);
    // The answer of a read that began before a change which this caller may know of.
    while (mark.epoch < asked) ({ found, mark } = await findInTime(hash));
    if (mark.epoch === epoch) (found ? known : unknown).set(hash, { found, readAt: mark.at });
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
    async verify(text) {
      const digest = parseKey(text);
      if (!digest) return { state: 'malformed' };
      const { hash } = digest;
      const cached = known.get(hash);
      if (trustedFor(cached, freshMs)) return judge(cached.found);
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
