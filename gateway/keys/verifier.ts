import type { Logger } from 'pino';
import { createChangeFeed } from './change-feed.js';
import { createKeyFinder, createLastUsed, type KnownKey, type Touched } from './key-cache.js';
import { type Key, keyState, parseKey, secretEnded, type Tenant } from './model.js';
import { isKeyId } from './schemas.js';
import type { Change, KeyStore } from './store.js';

export interface ActiveKey {
  state: 'active';
  /** When the key expires, in milliseconds since 1970; absent where it does not. */
  until?: number;
  tenant: Pick<Tenant, 'id' | 'name' | 'limits' | 'weight'>;
  key: Pick<Key, 'id' | 'label' | 'scopes'>;
}

export type KeyStatus = ActiveKey | { state: 'malformed' | 'unknown' | 'expired' | 'revoked' };

interface KeyVerifierOptions {
  store: KeyStore;
  /** Keys in memory, as many again by their ids; any other costs a look-up. Default 100,000. */
  cacheSize?: number;
  /** Wall clock, ms: for expiry, and nothing else. */
  now?: () => number;
  /** A clock that never jumps, ms: for the age of what is cached. */
  monotonic?: () => number;
  /** Between two polls of other processes' changes, ms. */
  pollInterval?: number;
  /** Between two writes of when keys were last used, ms. */
  lastUsedInterval?: number;
  /** Called once when the database stops answering, with the reason, and once when it is back. */
  onDown?: (error: unknown) => void;
  onUp?: () => void;
}

export type KeyVerifier = ReturnType<typeof createKeyVerifier>;

/**
 * Verifies keys from a cache that follows every change: this process's own at once, others' by polling. Cached by the key's
 * hash, never by the key, and by its id where it signs. Rejects with `keys_unavailable` where it cannot be known at the moment.
 */
export function createKeyVerifier(options: KeyVerifierOptions) {
  const { store, now = Date.now, monotonic = () => performance.now(), cacheSize: max = 100_000 } = options;
  // A fifth of what `last_used_at` may be behind is left for the writing.
  const lastUsed = createLastUsed(store, options.lastUsedInterval ?? 4_000, max);
  const feed = createChangeFeed({
    store,
    monotonic,
    interval: options.pollInterval ?? 1_000,
    onChanges: drop,
    onReset() {
      for (const finder of finders) finder.reset();
    },
    onDown: (error) => options.onDown?.(error),
    onUp: () => options.onUp?.(),
  });
  const stopListening = store.onChange(drop);
  const byHash = createKeyFinder({
    read: (hashes) => store.find(hashes),
    nameOf: ({ secret }) => secret.hash,
    max,
    monotonic,
    feed,
  });
  const byId = createKeyFinder({
    read: (ids) => store.findKeys(ids),
    nameOf: ({ key }) => key.id,
    max,
    monotonic,
    feed,
  });
  const finders = [byHash, byId];

  function drop(changes: Pick<Change, 'tenant_id' | 'key_id'>[]): void {
    const touched = touchedBy(changes);
    if (touched.length > 0) for (const finder of finders) finder.drop(touched);
  }

  /** By the clock of this very call: a key can expire while it is cached. */
  function statusOf(found: KnownKey | undefined): KeyStatus {
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
      ...(key.expires_at === null ? {} : { until: key.expires_at }),
    };
  }

  return {
    /** Of the text that a caller sent as its key. */
    async verify(text: string): Promise<KeyStatus> {
      const digest = parseKey(text);
      if (!digest) return { state: 'malformed' };
      return statusOf(await byHash.find(digest.hash));
    },
    /**
     * Of the key of this id, which signed a call; `isSigned` says whether it did by this version of its signing secret. One that
     * did not is unknown. The ends of the key's secrets do not matter here.
     */
    async verifySigned(id: string, isSigned: (version: number) => boolean): Promise<KeyStatus> {
      if (!isKeyId(id)) return { state: 'malformed' };
      const found = await byId.find(id);
      if (!found) return { state: 'unknown' };
      const { signing_version } = found.key;
      if (isSigned(signing_version)) return statusOf(found);
      // The secret was replaced a moment ago, by another process: only somebody who was given the new one can sign by it.
      if (!isSigned(signing_version + 1)) return { state: 'unknown' };
      const fresh = await byId.findAgain(id);
      return fresh && isSigned(fresh.key.signing_version) ? statusOf(fresh) : { state: 'unknown' };
    },
    /** Of the key of this id now, for work that was requested with it before. */
    async verifyById(id: string): Promise<KeyStatus> {
      return isKeyId(id) ? statusOf(await byId.find(id)) : { state: 'malformed' };
    },
    /** Polls other processes' changes now. */
    refresh: () => feed.poll(),
    /** Whether the database answers. */
    available: () => !feed.isDown(),
    /** Writes what is left; the store stays open. */
    async close(): Promise<void> {
      stopListening();
      feed.close();
      await lastUsed.close();
    },
  };
}

/** The cached keys that these changes concern. */
function touchedBy(all: Pick<Change, 'tenant_id' | 'key_id'>[]): Touched[] {
  // The log is about people too: a sign-in changes nothing here, and must not drop what is cached.
  const changes = all.filter(({ tenant_id, key_id }) => tenant_id !== null || key_id !== null);
  const keys = new Set(changes.map((change) => change.key_id));
  // A change without a key is one of the tenant itself, and so of what every key of it may do.
  const whole = new Set(changes.filter((change) => change.key_id === null).map(({ tenant_id }) => tenant_id));
  return [...new Set(changes.flatMap(({ tenant_id }) => tenant_id ?? []))].map((tenant) => ({
    tenant,
    touches: whole.has(tenant) ? () => true : ({ key }) => keys.has(key.id),
  }));
}

/** Logs once when the database of keys stops answering, and once when it is back. */
export function logKeyOutage(logger: Logger): Required<Pick<KeyVerifierOptions, 'onDown' | 'onUp'>> {
  return {
    onDown: (error) =>
      logger.error({ err: error }, 'key database does not answer; keys seen lately go on working'),
    onUp: () => logger.info('key database answers again'),
  };
}
