import type { Report } from './judge.js';
import { percentile } from './tally.js';

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
