import { createByteCache } from './byte-cache.js';

/** What is kept: answers by what they were made of, or downloads by their urls. */
export type ShelfName = 'result' | 'source';

/**
 * How what was asked for was come by: from the cache, from the cache after its server was asked whether it still holds, with
 * others from work that was under way, or by doing the work.
 */
export type Outcome = 'hit' | 'revalidated' | 'shared' | 'miss';

/** One kind of what is kept. */
export interface Shelf<Value extends object> {
  get(tenant: string, key: string): Value | undefined;
  /** Keeps a value that takes so many bytes, and gives whether it is kept: not where it takes more than may be kept of one. */
  set(tenant: string, key: string, value: Value, bytes: number): boolean;
  delete(tenant: string, key: string): void;
  /** Counts, for the metrics, how something was come by. */
  count(outcome: Outcome): void;
}

/** How often something of a shelf was come by in one way. */
export interface Use {
  cache: ShelfName;
  outcome: Outcome;
  number: number;
}

/** The one memory for all that may be used again, and how it is used. */
export interface Cache {
  shelf<Value extends object>(name: ShelfName): Shelf<Value>;
  /** What is kept now, and all uses there have been. */
  stats(): { bytes: number; entries: number; uses: readonly Use[] };
}

/** A cache of at most so many bytes for all shelves together; 0 keeps nothing. */
export function createCache(maxBytes: number): Cache {
  const kept = createByteCache<object>(maxBytes);
  const uses = (['result', 'source'] as const).flatMap((cache) =>
    (['hit', 'revalidated', 'shared', 'miss'] as const).map(
      (outcome): Use => ({ cache, outcome, number: 0 }),
    ),
  );

  return {
    shelf<Value extends object>(name: ShelfName): Shelf<Value> {
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
