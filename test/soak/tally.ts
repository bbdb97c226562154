import type { Report } from './scenario.js';

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

const columns = [
  ['scenario', -40],
  ['calls', 7],
  ['ok', 7],
  ['refused', 7],
  ['good p50/p99 ms', 15],
  ['healthz max ms', 14],
  ['RSS MB before/peak/after', 24],
  ['fds before/after', 16],
  ['verdict', -7],
] as const;

/** Negative widths begin at the left. */
function cells(values: readonly string[]): string {
  return values
    .map((value, at) => {
      const width = columns[at]?.[1] ?? 0;
      return width < 0 ? value.padEnd(-width) : value.padStart(width);
    })
    .join('  ')
    .trimEnd();
}

export const heading = cells(columns.map(([name]) => name));

/** A line of the table, and under it what did not hold. */
export function row(report: Report): string {
  const { name, tally, health, before, peakMb, after, problems, seed } = report;
  const all = [...tally.statuses, ...tally.goodStatuses];
  const sum = (which: (status: number) => boolean) =>
    String(all.reduce((total, [status, times]) => total + (which(status) ? times : 0), 0));
  const whole = (value: number | undefined) =>
    value === undefined || Number.isNaN(value) ? '–' : value.toFixed(0);
  const line = cells([
    name,
    sum(() => true),
    sum((status) => status === 200),
    sum((status) => status >= 400),
    `${whole(percentile(tally.goodMs, 0.5))}/${whole(percentile(tally.goodMs, 0.99))}`,
    whole(health.maxMs),
    `${whole(before?.rssMb)}/${whole(peakMb)}/${whole(after?.rssMb)}`,
    `${whole(before?.descriptors)}/${whole(after?.descriptors)}`,
    problems.length === 0 ? 'holds' : 'FAILS',
  ]);
  const told = problems.slice(0, 40).map((problem) => `    ${problem}`);
  return [line, ...told, ...(problems.length > 0 ? [`    again with --seed ${seed}`] : [])].join('\n');
}
