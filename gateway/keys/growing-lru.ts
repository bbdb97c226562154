import { LRUCache } from 'lru-cache';

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
