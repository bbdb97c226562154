import type { Kept } from './part.js';

/** What came of a look: it was there, it had to be made or fetched, or it was on its way for another call. */
export type Found = 'hit' | 'miss' | 'shared';

/** How often what was found, since the start. */
export interface CacheCounts {
  add(kind: Kept, found: Found): void;
  /** Every kind with every outcome, those that never came too. */
  entries(): readonly { kind: Kept; found: Found; count: number }[];
}

export function createCacheCounts(): CacheCounts {
  const none = (): Record<Found, number> => ({ hit: 0, miss: 0, shared: 0 });
  const counts: Record<Kept, Record<Found, number>> = { result: none(), source: none() };
  return {
    add(kind, found) {
      counts[kind][found] += 1;
    },
    entries: () =>
      (['result', 'source'] as const).flatMap((kind) =>
        (['hit', 'miss', 'shared'] as const).map((found) => ({ kind, found, count: counts[kind][found] })),
      ),
  };
}
