/** What became of an attack's calls, and of the good ones that were made meanwhile. */
export interface Tally {
  /** An answer's status; 0 where the connection ended, or was given up, without one. */
  count(status: number): void;
  /** A call that should be served. */
  good(status: number, ms: number): void;
  /** Something that must not be. */
  fault(what: string): void;
  readonly statuses: ReadonlyMap<number, number>;
  readonly goodStatuses: ReadonlyMap<number, number>;
  readonly goodMs: readonly number[];
  readonly faults: readonly string[];
}

export function createTally(): Tally {
  const statuses = new Map<number, number>();
  const goodStatuses = new Map<number, number>();
  const goodMs: number[] = [];
  const faults: string[] = [];
  const add = (map: Map<number, number>, status: number) => map.set(status, (map.get(status) ?? 0) + 1);
  return {
    statuses,
    goodStatuses,
    goodMs,
    faults,
    count: (status) => void add(statuses, status),
    good(status, ms) {
      add(goodStatuses, status);
      if (status === 200) goodMs.push(ms);
    },
    fault: (what) => void faults.push(what),
  };
}

/** The value below which this share of values lies; not a number where there are none. */
export function percentile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN;
}

/** `200 × 31, 413 × 2`. */
export function listed(statuses: ReadonlyMap<number, number>): string {
  return [...statuses]
    .sort(([a], [b]) => a - b)
    .map(([status, times]) => `${status || 'none'} × ${times}`)
    .join(', ');
}
