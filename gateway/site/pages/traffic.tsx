import type { ComponentChildren } from 'preact';
import { dayMs, dayOf } from '../../usage/store.js';
import type { DayFigures } from '../../usage/sums.js';
import { formatCount, formatDuration } from './elements.js';
import { UsageChart } from './usage.js';

/** The UTC day so many days before now. */
export function daysAgo(now: number, days: number): string {
  return dayOf(now - days * dayMs);
}

/** A share in percent, with one decimal where it is small. */
export function formatShare(part: number, whole: number): string {
  if (whole === 0) return '–';
  return `${((part / whole) * 100).toLocaleString('en', { maximumFractionDigits: part * 10 < whole ? 1 : 0 })} %`;
}

/** The figures of so many days up to today, those without calls too. */
export function fillDays(rows: readonly DayFigures[], now: number, count: number): DayFigures[] {
  const known = new Map(rows.map((row) => [row.day, row]));
  return Array.from({ length: count }, (_, index) => {
    const day = daysAgo(now, count - 1 - index);
    return known.get(day) ?? { day, calls: 0, errors: 0, limited: 0, cpu_ms: 0, p95_ms: null };
  });
}

/** A figure by its name, and what to compare it with. */
type Stat = readonly [name: string, value: ComponentChildren, note?: string];

export function Stats({ stats }: { stats: readonly Stat[] }) {
  return (
    <dl class="stats">
      {stats.map(([name, value, note]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{value}</dd>
          {note && <dd class="note">{note}</dd>}
        </div>
      ))}
    </dl>
  );
}

/** Today so far against as much of an average day of the seven before, and a chart; nothing where there were no calls. */
export function Traffic({ rows, now }: { rows: readonly DayFigures[]; now: number }) {
  const days = fillDays(rows, now, 8);
  const [today, before] = [days.at(-1), days.slice(0, -1)];
  if (!today || rows.length === 0) return null;
  const sum = (field: 'calls' | 'errors' | 'limited' | 'cpu_ms') =>
    before.reduce((total, day) => total + day[field], 0);
  const passed = (now % dayMs) / dayMs;
  const usual = (field: 'calls' | 'limited' | 'cpu_ms') => Math.round((sum(field) / before.length) * passed);
  const p95s = before.flatMap(({ p95_ms }) => p95_ms ?? []).sort((a, b) => a - b);
  const time = (ms: number | null | undefined) => (ms == null ? '–' : formatDuration(ms));
  const failed = (day: DayFigures) => day.errors - day.limited;
  const usualErrors = formatShare(sum('errors') - sum('limited'), sum('calls'));
  const stats = [
    ['Calls today', formatCount(today.calls), formatCount(usual('calls'))],
    ['Error rate', formatShare(failed(today), today.calls), usualErrors],
    ['p95', time(today.p95_ms), time(p95s[Math.floor(p95s.length / 2)])],
    ['Refused by limits', formatCount(today.limited), formatCount(usual('limited'))],
    ['CPU', time(today.cpu_ms), time(usual('cpu_ms'))],
  ] as const;
  const parts = (day: DayFigures) => [
    { day: day.day, service: 'answered', calls: day.calls - day.errors },
    { day: day.day, service: 'failed', calls: failed(day) },
    { day: day.day, service: 'refused by limits', calls: day.limited },
  ];
  const shown = days.slice(1);
  return (
    <div class="traffic">
      <h2>Today so far (UTC), beside as much of a usual day</h2>
      <Stats stats={stats.map(([name, value, note]) => [name, value, `usual: ${note}`])} />
      {shown.some(({ calls }) => calls > 0) && (
        <UsageChart rows={shown.flatMap(parts)} days={shown.map(({ day }) => day)} />
      )}
    </div>
  );
}
