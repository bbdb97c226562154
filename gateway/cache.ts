import { LRUCache } from 'lru-cache';
import { Heap } from '../pool/queues.js';

/** What is kept for tenants in memory, each tenant's apart from every other's. */
interface ByteCache<Value extends object> {
  get(tenant: string, key: string): Value | undefined;
  /** Keeps a value that takes so many bytes; nothing happens where it takes more than may be kept of one. */
  set(tenant: string, key: string, value: Value, bytes: number): void;
  delete(tenant: string, key: string): void;
  stats(): { bytes: number; entries: number };
}

/** One tenant's part. */
interface TenantPart<Value extends object> {
  tenant: string;
  values: LRUCache<string, Value>;
}

/** What an entry takes besides its value: its key, and its places in tables. */
const entryOverhead = 512;
/** Of one entry at most, as a share of the whole. */
const largestShare = 1 / 4;

/**
 * A cache of at most so many bytes in all; 0 keeps nothing. Where they do not suffice, the tenant that holds the most gives up what
 * it used the longest ago (max-min fairness): whoever asks for many things displaces their own, and nobody else's fair part.
 */
export function createByteCache<Value extends object>(maxBytes: number): ByteCache<Value> {
  const parts = new Map<string, TenantPart<Value>>();
  const largestFirst = new Heap<TenantPart<Value>>((a, b) => sizeOfPart(a) > sizeOfPart(b));
  let bytes = 0;
  let entries = 0;

  function partOf(tenant: string): TenantPart<Value> {
    const values = new LRUCache<string, Value>({ maxSize: maxBytes, sizeCalculation: () => entryOverhead });
    return { tenant, values };
  }

  /** Does something with a part, and notes what it takes afterwards. */
  function change(part: TenantPart<Value>, work: () => void): void {
    bytes -= sizeOfPart(part);
    entries -= part.values.size;
    work();
    bytes += sizeOfPart(part);
    entries += part.values.size;
    if (part.values.size > 0) {
      parts.set(part.tenant, part);
      largestFirst.place(part);
    } else {
      parts.delete(part.tenant);
      largestFirst.delete(part);
    }
  }

  return {
    get: (tenant, key) => parts.get(tenant)?.values.get(key),
    set(tenant, key, value, size) {
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
    delete(tenant, key) {
      const part = parts.get(tenant);
      if (part) change(part, () => part.values.delete(key));
    },
    stats: () => ({ bytes, entries }),
  };
}

function sizeOfPart({ values }: { values: { calculatedSize: number } }): number {
  return values.calculatedSize;
}

/** What is kept: answers by what they were made of, or downloads by their urls. */
type CacheName = 'result' | 'source';

/**
 * How what was asked for was come by: from the cache, from the cache after its server was asked whether it still holds, with
 * others from work that was under way, or by doing the work.
 */
export type CacheStatus = 'hit' | 'revalidated' | 'shared' | 'miss';

/** One kind of what is kept. */
export interface CacheNamespace<Value extends object> {
  get(tenant: string, key: string): Value | undefined;
  /** Keeps a value that takes so many bytes, and gives whether it is kept: not where it takes more than may be kept of one. */
  set(tenant: string, key: string, value: Value, bytes: number): boolean;
  delete(tenant: string, key: string): void;
  /** Counts, for the metrics, how something was come by. */
  count(outcome: CacheStatus): void;
}

/** How often something of a shelf was come by in one way. */
interface CacheUse {
  cache: CacheName;
  outcome: CacheStatus;
  number: number;
}

/** The one memory for all that may be used again, and how it is used. */
export interface Cache {
  shelf<Value extends object>(name: CacheName): CacheNamespace<Value>;
  /** What is kept now, and all uses there have been. */
  stats(): { bytes: number; entries: number; uses: readonly CacheUse[] };
}

/** A cache of at most so many bytes for all shelves together; 0 keeps nothing. */
export function createCache(maxBytes: number): Cache {
  const kept = createByteCache<object>(maxBytes);
  const uses = (['result', 'source'] as const).flatMap((cache) =>
    (['hit', 'revalidated', 'shared', 'miss'] as const).map(
      (outcome): CacheUse => ({ cache, outcome, number: 0 }),
    ),
  );

  return {
    shelf<Value extends object>(name: CacheName): CacheNamespace<Value> {
      const keyOf = (key: string) => `${name} ${key}`;
      // Nobody else knows these keys, so what is found by one is what was set by it.
      const get = (tenant: string, key: string) => kept.get(tenant, keyOf(key)) as Value | undefined;
      return {
        get,
        set(tenant, key, value, bytes) {
          kept.set(tenant, keyOf(key), value, bytes);
          return get(tenant, key) === value;
        },
        delete: (tenant, key) => kept.delete(tenant, keyOf(key)),
        count(outcome) {
          for (const use of uses) if (use.cache === name && use.outcome === outcome) use.number += 1;
        },
      };
    },
    stats: () => ({ ...kept.stats(), uses }),
  };
}

/** What came of work that several may have waited for. */
interface Coalesced<Value> {
  value: Value;
  /** Whether the work was under way already. */
  joined: boolean;
  /** Whether others get the same value. */
  shared: boolean;
}

/** Work that is done once for all who ask for it at the same time. */
interface InFlight<Value> {
  /** Whether work is under way by this key, so that `join` would wait for it. */
  has(key: string): boolean;
  /**
   * Gives what comes of the work that is under way by this key, else begins it; what it throws is told to each who waits. Who is
   * aborted stops waiting at once, with the reason of `signal`; the work itself is aborted, with the last one's reason, when
   * nobody waits any more, and whoever comes after that begins anew.
   */
  join(
    key: string,
    signal: AbortSignal,
    work: (signal: AbortSignal) => Promise<Value>,
  ): Promise<Coalesced<Value>>;
}

interface InFlightWork<Value> {
  landing: Promise<Value>;
  ending: AbortController;
  waiting: number;
  /** How many waited when it ended. */
  landedWith: number | undefined;
}

/** Keys must name the tenant: nobody is to learn, by an answer or by its time, what another asks for. */
export function createInFlight<Value>(): InFlight<Value> {
  const underWay = new Map<string, InFlightWork<Value>>();

  function begin(key: string, work: (signal: AbortSignal) => Promise<Value>): InFlightWork<Value> {
    const ending = new AbortController();
    const flight: InFlightWork<Value> = {
      ending,
      waiting: 0,
      landedWith: undefined,
      landing: Promise.resolve()
        .then(() => work(ending.signal))
        .finally(() => {
          flight.landedWith = flight.waiting;
          drop(key, flight);
        }),
    };
    underWay.set(key, flight);
    return flight;
  }

  function drop(key: string, flight: InFlightWork<Value>): void {
    if (underWay.get(key) === flight) underWay.delete(key);
  }

  return {
    has: (key) => underWay.has(key),
    async join(key, signal, work) {
      signal.throwIfAborted();
      const found = underWay.get(key);
      const flight = found ?? begin(key, work);
      flight.waiting += 1;
      try {
        const value = await unlessAborted(flight.landing, signal);
        return { value, joined: found !== undefined, shared: (flight.landedWith ?? 0) > 1 };
      } finally {
        flight.waiting -= 1;
        if (flight.waiting === 0 && flight.landedWith === undefined) {
          drop(key, flight);
          flight.ending.abort(signal.reason);
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
