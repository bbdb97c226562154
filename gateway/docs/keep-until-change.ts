import type { LiveRegistry } from '../helpers/live-registry.js';

/** Gives what is kept under a name, and makes it where it is not. */
export type Keep<T> = (name: string, make: () => T) => T;

/**
 * Keeps what is made of the helpers until they change, for whoever asks without a key may ask without end. A name stands for one of
 * `most` things at most: what more there should be is made each time.
 */
export function keepUntilChange<T>(registry: Pick<LiveRegistry, 'watch'>, most: () => number): Keep<T> {
  const kept = new Map<string, T>();
  registry.watch(() => kept.clear());
  return function keep(name, make) {
    const found = kept.get(name) ?? make();
    if (kept.size < most()) kept.set(name, found);
    return found;
  };
}
