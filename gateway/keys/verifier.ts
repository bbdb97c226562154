import type { Logger } from 'pino';
import { createKeyFinder, createLastUsed, type KnownKey, type Touched } from './key-cache.js';
import { type Key, keyState, parseKey, secretEnded, type TenantInForce } from './model.js';
import { isKeyId } from './schemas.js';
import type { Change, KeyStore } from './store.js';

export interface ActiveKey {
  state: 'active';
  /** When the key expires, in milliseconds since 1970; absent where it does not. */
  until?: number;
  tenant: TenantInForce;
  key: Pick<Key, 'id' | 'label' | 'scopes' | 'limits'>;
}

export type KeyStatus =
  | ActiveKey
  | { state: 'malformed' | 'unknown' | 'expired' | 'revoked' | 'paused' | 'suspended' };

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
  onDown?: ((error: unknown) => void) | undefined;
  onUp?: (() => void) | undefined;
}

/** Called with the tenants that may have changed in more than one key; undefined is all of them. */
type TenantListener = (tenants: ReadonlySet<string> | undefined) => void;

export type KeyVerifier = ReturnType<typeof createKeyVerifier>;

/** Verifies keys from a cache that follows this process's changes at once and others' by polling. */
export function createKeyVerifier(options: KeyVerifierOptions) {
  const { store, now = Date.now, monotonic = () => performance.now(), cacheSize: max = 100_000 } = options;
  // A fifth of what `last_used_at` may be behind is left for the writing.
  const lastUsed = createLastUsed(store, options.lastUsedInterval ?? 4_000, max);
  const followers = new Set<TenantListener>();
  const feed = createChangeFeed({
    store,
    monotonic,
    interval: options.pollInterval ?? 1_000,
    onChanges: drop,
    onReset() {
      for (const finder of finders) finder.reset();
      for (const notify of followers) notify(undefined);
    },
    onDown: options.onDown,
    onUp: options.onUp,
  });
  const stopListening = store.onChange(drop);
  const common = { max, monotonic, feed };
  const byHash = createKeyFinder({ ...common, read: store.find, nameOf: ({ secret }) => secret.hash });
  const byId = createKeyFinder({ ...common, read: store.findKeys, nameOf: ({ key }) => key.id });
  const finders = [byHash, byId];

  function drop(changes: Pick<Change, 'tenant_id' | 'key_id' | 'action'>[]): void {
    // A plan is many tenants' at once.
    if (changes.some(({ action }) => action === 'plan.put')) for (const finder of finders) finder.reset();
    const touched = touchedBy(changes);
    if (touched.length > 0) for (const finder of finders) finder.drop(touched);
    const tenants = new Set(changes.flatMap(({ tenant_id, key_id }) => (key_id ? [] : (tenant_id ?? []))));
    if (tenants.size > 0) for (const notify of followers) notify(tenants);
  }

  /** By the clock of this very call: a key can expire while it is cached. */
  function statusOf(found: KnownKey | undefined): KeyStatus {
    if (!found) return { state: 'unknown' };
    const { secret, key, tenant } = found;
    const at = now();
    const state = keyState(key, at);
    if (state !== 'active') return { state };
    if (secretEnded(secret, at)) return { state: 'expired' };
    if (tenant.isSuspended) return { state: 'suspended' };
    lastUsed.note(key, at);
    const { id, name, limits, weight } = tenant;
    return {
      state: 'active',
      tenant: { id, name, limits, weight },
      key: { id: key.id, label: key.label, scopes: key.scopes, limits: key.limits },
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
    /** Of the key that signed a call; `isSigned` checks one version of its signing secret. */
    async verifySigned(id: string, isSigned: (version: number) => boolean): Promise<KeyStatus> {
      if (!isKeyId(id)) return { state: 'malformed' };
      const found = await byId.find(id);
      if (!found) return { state: 'unknown' };
      const { signing_version } = found.key;
      if (isSigned(signing_version)) return statusOf(found);
      // Another process has just replaced the secret: nobody else can sign by the new one.
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
    /** The same changes, for what else is cached of tenants. */
    changes: {
      confirmedAt: feed.confirmedAt,
      isDown: feed.isDown,
      reportFailure: feed.reportFailure,
      /** Returns a function that ends this. */
      follow(listener: TenantListener): () => void {
        followers.add(listener);
        return () => void followers.delete(listener);
      },
    },
    /** Writes what is left; the store stays open. */
    async close(): Promise<void> {
      stopListening();
      feed.close();
      await lastUsed.close();
    },
  };
}

/** The cached keys that these changes concern. A change without a tenant is one of people, and concerns none. */
function touchedBy(changes: Pick<Change, 'tenant_id' | 'key_id'>[]): Touched[] {
  const keys = new Set(changes.map((change) => change.key_id));
  // A change without a key is one of the tenant itself, and so of what every key of it may do.
  const whole = new Set(changes.filter((change) => change.key_id === null).map(({ tenant_id }) => tenant_id));
  return [...new Set(changes.flatMap(({ tenant_id }) => tenant_id ?? []))].map((tenant) => ({
    tenant,
    touches: whole.has(tenant) ? () => true : ({ key }) => keys.has(key.id),
  }));
}

/** Logs once when the database of keys stops answering, and once when it is back. */
export function logKeyOutage(logger: Logger) {
  return {
    onDown: (error: unknown) =>
      logger.error({ err: error }, 'key database does not answer; keys seen lately go on working'),
    onUp: () => logger.info('key database answers again'),
  };
}

interface ChangeFeedOptions extends Pick<KeyVerifierOptions, 'store' | 'onDown' | 'onUp'> {
  monotonic: () => number;
  /** Between the end of one poll and the next, ms. */
  interval: number;
  onChanges: (changes: Change[]) => void;
  /** Nothing read before may be relied on: the start, a restored database, or too many changes to follow. */
  onReset: () => void;
}

const maxChanges = 500;

/** Polls the audit log from the last known entry on; where that is gone, the database is another one. */
function createChangeFeed(options: ChangeFeedOptions) {
  const { store, monotonic, interval } = options;
  let position: Change | 'empty' | undefined;
  let confirmed = Number.NEGATIVE_INFINITY;
  let down = false;
  let closed = false;
  let timer: NodeJS.Timeout | undefined;
  let running: Promise<void> | undefined;

  function poll(): Promise<void> {
    clearTimeout(timer);
    running ??= once().finally(() => {
      running = undefined;
      if (!closed) timer = setTimeout(poll, interval).unref();
    });
    return running;
  }

  async function once(): Promise<void> {
    const began = monotonic();
    try {
      await advance();
    } catch (error) {
      return reportFailure(error);
    }
    confirmed = began;
    if (down && !closed) options.onUp?.();
    down = false;
  }

  async function advance(): Promise<void> {
    if (position === undefined) return reset();
    const known = position;
    const changes = await store.changesFrom(known === 'empty' ? 0 : known.id, maxChanges);
    if (known !== 'empty') {
      const first = changes.shift();
      if (first?.id !== known.id || first.at !== known.at) return reset();
    }
    if (changes.length >= maxChanges - 1) return reset();
    const last = changes.at(-1);
    if (last === undefined) return;
    options.onChanges(changes);
    position = last;
  }

  async function reset(): Promise<void> {
    const last = await store.lastChange();
    // Only now: what was cached while this waited may be older than the position.
    options.onReset();
    position = last ?? 'empty';
  }

  function reportFailure(error: unknown): void {
    if (down || closed) return;
    down = true;
    options.onDown?.(error);
  }

  void poll();
  return {
    /** When the last poll that succeeded began: all that was committed before is known here. */
    confirmedAt: () => confirmed,
    /** Whether the last attempt to reach the database failed. */
    isDown: () => down,
    /** Reports a failure seen elsewhere, so that later reads need not wait for their own. */
    reportFailure,
    poll,
    close(): void {
      closed = true;
      clearTimeout(timer);
    },
  };
}
