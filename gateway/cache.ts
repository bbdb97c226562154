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

/** The one memory for all cached values. */
export type Cache = ReturnType<typeof createCache>;

interface TenantPart {
  tenant: string;
  values: LRUCache<string, object>;
}

/** What an entry takes besides its key and value: its places in tables. */
const entryOverhead = 512;
/** The largest entry, as a share of the whole. */
const largestShare = 1 / 4;

/**
 * A cache of at most so many bytes for all namespaces together; 0 stores nothing. Where they do not suffice, the tenant that holds the
 * most gives up what it used the longest ago (max-min fairness): a tenant that asks for many things displaces its own, and no
 * other's fair share.
 */
export function createCache(maxBytes: number) {
  const parts = new Map<string, TenantPart>();
  const largestFirst = new Heap<TenantPart>((a, b) => a.values.calculatedSize > b.values.calculatedSize);
  let bytes = 0;
  let entries = 0;
  /** How often values of a namespace were used with a status. */
  const uses = (['result', 'source'] as const).flatMap((cache) =>
    (['hit', 'revalidated', 'shared', 'miss'] as const).map((outcome) => ({ cache, outcome, number: 0 })),
  );

  /** Changes a part and updates the sums. */
  function change(part: TenantPart, work: () => void): void {
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

  function namespace<Value extends object>(name: CacheName): CacheNamespace<Value> {
    const keyOf = (key: string) => `${name} ${key}`;
    // Only this namespace writes these keys.
    const get = (tenant: string, key: string) =>
      parts.get(tenant)?.values.get(keyOf(key)) as Value | undefined;
    return {
      get,
      set(tenant, key, value, size) {
        const whole = size + entryOverhead + keyOf(key).length;
        if (whole > maxBytes * largestShare) return false;
        const sizeCalculation = () => entryOverhead;
        const part = parts.get(tenant) ?? {
          tenant,
          values: new LRUCache({ maxSize: maxBytes, sizeCalculation }),
        };
        change(part, () => part.values.set(keyOf(key), value, { size: whole }));
        while (bytes > maxBytes) {
          const largest = largestFirst.first() as TenantPart;
          change(largest, () => largest.values.pop());
        }
        return get(tenant, key) === value;
      },
      delete(tenant, key) {
        const part = parts.get(tenant);
        if (part) change(part, () => part.values.delete(keyOf(key)));
      },
      count(outcome) {
        for (const use of uses) if (use.cache === name && use.outcome === outcome) use.number += 1;
      },
    };
  }

  return { namespace, stats: () => ({ bytes, entries, uses }) };
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
     * one's reason, when no caller waits any more, and the next caller begins anew.
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
