import { LRUCache } from 'lru-cache';
import { Heap } from '../pool/fair-queue.js';

/** Answers by what they are made of, or downloads by their urls. */
type CacheName = 'result' | 'source';

/** `revalidated`: from the cache after a 304; `shared`: from work in flight for another call; `miss`: by doing the work. */
export type CacheStatus = 'hit' | 'revalidated' | 'shared' | 'miss';

/** One kind of cached values. No tenant ever gets another's. */
export interface CacheNamespace<Value extends object> {
  get(tenant: string, key: string): Value | undefined;
  /** Stores a value of so many bytes; false where that is more than one entry may have. */
  set(tenant: string, key: string, value: Value, bytes: number): boolean;
  delete(tenant: string, key: string): void;
  /** Counts a use for the metrics. */
  count(outcome: CacheStatus): void;
}

/** How often values of a namespace were used with a status. */
interface CacheUse {
  cache: CacheName;
  outcome: CacheStatus;
  number: number;
}

/** The one memory for all cached values. */
export interface Cache {
  namespace<Value extends object>(name: CacheName): CacheNamespace<Value>;
  stats(): { bytes: number; entries: number; uses: readonly CacheUse[] };
}

/** A cache of at most so many bytes for all namespaces together; 0 stores nothing. */
export function createCache(maxBytes: number): Cache {
  const values = createByteCache<object>(maxBytes);
  const uses = (['result', 'source'] as const).flatMap((cache) =>
    (['hit', 'revalidated', 'shared', 'miss'] as const).map(
      (outcome): CacheUse => ({ cache, outcome, number: 0 }),
    ),
  );

  return {
    namespace<Value extends object>(name: CacheName): CacheNamespace<Value> {
      const keyOf = (key: string) => `${name} ${key}`;
      // Only this namespace writes these keys.
      const get = (tenant: string, key: string) => values.get(tenant, keyOf(key)) as Value | undefined;
      return {
        get,
        set(tenant, key, value, bytes) {
          values.set(tenant, keyOf(key), value, bytes);
          return get(tenant, key) === value;
        },
        delete: (tenant, key) => values.delete(tenant, keyOf(key)),
        count(outcome) {
          for (const use of uses) if (use.cache === name && use.outcome === outcome) use.number += 1;
        },
      };
    },
    stats: () => ({ ...values.stats(), uses }),
  };
}

interface TenantPart<Value extends object> {
  tenant: string;
  values: LRUCache<string, Value>;
}

/** What an entry takes besides its key and value: its places in tables. */
const entryOverhead = 512;
/** The largest entry, as a share of the whole. */
const largestShare = 1 / 4;

/**
 * A cache of at most so many bytes. Where they do not suffice, the tenant that holds the most gives up what it used the longest ago
 * (max-min fairness): a tenant that asks for many things displaces its own, and nobody else's fair share.
 */
export function createByteCache<Value extends object>(maxBytes: number) {
  const parts = new Map<string, TenantPart<Value>>();
  const largestFirst = new Heap<TenantPart<Value>>(
    (a, b) => a.values.calculatedSize > b.values.calculatedSize,
  );
  let bytes = 0;
  let entries = 0;

  function partOf(tenant: string): TenantPart<Value> {
    const values = new LRUCache<string, Value>({ maxSize: maxBytes, sizeCalculation: () => entryOverhead });
    return { tenant, values };
  }

  /** Changes a part and updates the sums. */
  function change(part: TenantPart<Value>, work: () => void): void {
    const { tenant, values } = part;
    bytes -= values.calculatedSize;
    entries -= values.size;
    work();
    bytes += values.calculatedSize;
    entries += values.size;
    if (values.size > 0) {
      parts.set(tenant, part);
      largestFirst.place(part);
    } else {
      parts.delete(tenant);
      largestFirst.delete(part);
    }
  }

  return {
    get: (tenant: string, key: string): Value | undefined => parts.get(tenant)?.values.get(key),
    /** Does nothing where the value takes more than one entry may have. */
    set(tenant: string, key: string, value: Value, size: number): void {
      const whole = size + entryOverhead + key.length;
      if (whole > maxBytes * largestShare) return;
      const part = parts.get(tenant) ?? partOf(tenant);
      change(part, () => part.values.set(key, value, { size: whole }));
      while (bytes > maxBytes) {
        const largest = largestFirst.first();
        if (!largest) return;
        change(largest, () => largest.values.pop());
      }
    },
    delete(tenant: string, key: string): void {
      const part = parts.get(tenant);
      if (part) change(part, () => part.values.delete(key));
    },
    stats: () => ({ bytes, entries }),
  };
}

interface InFlightWork<Value> {
  result: Promise<Value>;
  controller: AbortController;
  waiting: number;
  /** How many waited when it settled. */
  settledWith: number | undefined;
}

/** Coalesces work: it is done once for all who ask for it at the same time. Keys must name the tenant, or an answer's time would give away what another asks for. */
export function createInFlight<Value>() {
  const inFlight = new Map<string, InFlightWork<Value>>();

  function begin(key: string, work: (signal: AbortSignal) => Promise<Value>): InFlightWork<Value> {
    const controller = new AbortController();
    const begun: InFlightWork<Value> = {
      controller,
      waiting: 0,
      settledWith: undefined,
      result: Promise.resolve()
        .then(() => work(controller.signal))
        .finally(() => {
          begun.settledWith = begun.waiting;
          drop(key, begun);
        }),
    };
    inFlight.set(key, begun);
    return begun;
  }

  function drop(key: string, begun: InFlightWork<Value>): void {
    if (inFlight.get(key) === begun) inFlight.delete(key);
  }

  return {
    /** Whether `join` would wait for work in flight. */
    has: (key: string): boolean => inFlight.has(key),
    /**
     * The result of the work in flight by this key (`joined`), or of `work`; all who wait get its error. `shared` says whether others get
     * the same value. An aborted caller stops waiting at once, with the reason of `signal`; the work itself is aborted, with the last
     * one's reason, when nobody waits any more, and the next caller begins anew.
     */
    async join(
      key: string,
      signal: AbortSignal,
      work: (signal: AbortSignal) => Promise<Value>,
    ): Promise<{ value: Value; joined: boolean; shared: boolean }> {
      signal.throwIfAborted();
      const found = inFlight.get(key);
      const current = found ?? begin(key, work);
      current.waiting += 1;
      try {
        const value = await unlessAborted(current.result, signal);
        return { value, joined: found !== undefined, shared: (current.settledWith ?? 0) > 1 };
      } finally {
        current.waiting -= 1;
        if (current.waiting === 0 && current.settledWith === undefined) {
          drop(key, current);
          current.controller.abort(signal.reason);
        }
      }
    },
  };
}

/** A promise's outcome, or the signal's reason as soon as that is aborted. */
function unlessAborted<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const abort = () => reject(signal.reason);
    signal.addEventListener('abort', abort, { once: true });
    promise.then(resolve, reject).finally(() => signal.removeEventListener('abort', abort));
  });
}
