import { isTenantName } from '../../keys/schemas.js';
import { toCsv, usageColumns } from '../../usage/csv.js';
import type { UsageReports } from '../../usage/reports.js';
import { dayMs, dayOf } from '../../usage/store.js';
import { get, type PageCall } from '../page.js';
import { Page } from './document.js';
import { type Column, Empty, formatBytes, formatCount, formatDuration, Notice, Table } from './elements.js';
import { CsvLink, FilterForm, filtersOf, readFiltered } from './filters.js';
import { Chips } from './lists.js';

const daySpans = [7, 30, 90];
/** Rows of a table, the largest; CSV has all. */
const rowsShown = 50;
const rowsOfDay = 20;
/** Rows of all days that unfold, the newest ones; an older day leads to a page of its own. */
const rowsUnfolding = 150;
/** Rows that are read for them: of many tenants, a day has as many. */
const rowsRead = 1_000;
/** Days in the list; CSV has all. */
const daysShown = 100;

/** Usage of a tenant, and of all. */
export const usagePages = [
  get.tenant('/tenants/:tenant/usage', (call) => usagePage(call, call.tenant.name)),
  get.operator('/usage', (call) => usagePage(call)),
];

type Row = Awaited<ReturnType<UsageReports['usage']>>[number];

const dimensions = { service: 'Helper', tenant: 'Tenant', key: 'Key', outcome: 'Outcome' } as const;

async function usagePage({ site: { reports, now }, query, path }: PageCall, tenant?: string) {
  const today = dayOf(now());
  const { from = dayOf(now() - 29 * dayMs), to = today } = Object.fromEntries(
    filtersOf(query, ['from', 'to']),
  );
  const offered = ['service', tenant === undefined ? 'tenant' : 'key', 'outcome'] as const;
  const by = offered.find((name) => name === query.get('by')) ?? 'service';
  const span = { from, to, ...(tenant !== undefined && { tenant }) };
  const { found, problem } = await readFiltered(async () => {
    if (query.get('format') === 'csv') return { csv: await reports.usage({ ...span, by: `day,${by}` }) };
    const byDay = await reports.usage({ ...span, by: 'day' });
    const groups = sortedByCalls(await reports.usage({ ...span, by }));
    const unfolding = Math.min(rowsUnfolding / Math.min(groups.length, rowsOfDay), rowsRead / groups.length);
    const newest = byDay.slice(0, Math.max(1, Math.floor(unfolding)));
    return {
      ...{ byDay, groups },
      sums: await reports.usage({ ...span, by: '' }),
      byHelper: await reports.usage({ ...span, by: 'day,service' }, { durations: false }),
      unfolded: await reports.usage({ ...span, from: newest.at(-1)?.day ?? to, by: `day,${by}` }),
    };
  });
  if (found?.csv) return { csv: { name: 'usage', text: toCsv(usageColumns(`day,${by}`), found.csv) } };
  const { byHelper = [], byDay = [], sums: [sums] = [], groups = [], unfolded = [] } = found ?? {};
  const spans = daySpans.map((days) => [days, dayOf(now() - (days - 1) * dayMs)] as const);
  const columns = columnsFor(by);
  const page = (
    <Page tenant={tenant} title={tenant === undefined ? 'Usage' : `Usage of ${tenant}`}>
      <div class="heading">
        {tenant === undefined ? null : <h2>Usage</h2>}
        <nav class="spans" aria-label="Days shown">
          {spans.map(([days, start]) => (
            <a
              key={days}
              href={`${path}?from=${start}&to=${today}&by=${by}`}
              aria-current={from === start && to === today ? 'true' : undefined}
            >
              {days} days
            </a>
          ))}
        </nav>
      </div>
      <FilterForm
        label="Days"
        filters={[
          { name: 'from', label: 'From', type: 'date', standard: from },
          { name: 'to', label: 'To', type: 'date', standard: to },
        ]}
      />
      {problem && <Notice kind="bad">{problem}</Notice>}
      <Empty of={problem ? [problem] : byDay} title={`No calls from ${from} to ${to}`}>
        A call shows here within five seconds.
      </Empty>
      {sums && (
        <>
          <Sums row={sums} />
          <UsageChart {...chartOf(byHelper, from, to)} />
          <div class="heading">
            <Chips
              name="by"
              label="Group by"
              options={offered.map((name) => [
                name === 'service' ? '' : name,
                `By ${dimensions[name].toLowerCase()}`,
              ])}
            />
            <CsvLink />
          </div>
          <Table label={`Usage by ${by}`} rows={groups.slice(0, rowsShown)} columns={columns} />
          {groups.length > rowsShown && (
            <p class="quiet">
              The largest {rowsShown} of {formatCount(groups.length)}; the CSV has all.
            </p>
          )}
          <h2>Day by day (UTC)</h2>
          <Days days={byDay.slice(0, daysShown)} groups={unfolded} columns={columns} by={by} path={path} />
          {byDay.length > daysShown && (
            <p class="quiet">
              The newest {daysShown} of {formatCount(byDay.length)} days; the CSV has all.
            </p>
          )}
        </>
      )}
    </Page>
  );
  return problem ? { page, status: 400 } : page;
}

const sortedByCalls = (rows: readonly Row[]) => rows.toSorted((a, b) => b.calls - a.calls);
const countOf = (count: number, what: string) => `${formatCount(count)} ${what}${count === 1 ? '' : 's'}`;
const formatMs = (ms: number | null) => (ms === null ? '–' : formatDuration(ms));

/** The figures of a row. */
const figures = [
  ['Calls', ({ calls }: Row) => formatCount(calls)],
  ['Errors', ({ errors }: Row) => formatCount(errors)],
  ['p50', ({ p50_ms }: Row) => formatMs(p50_ms), 2],
  ['p95', ({ p95_ms }: Row) => formatMs(p95_ms)],
  ['CPU time', ({ cpu_ms }: Row) => formatDuration(cpu_ms), 2],
  ['In', ({ bytes_in }: Row) => formatBytes(bytes_in), 3],
  ['Out', ({ bytes_out }: Row) => formatBytes(bytes_out), 3],
] as const;

function Sums({ row }: { row: Row }) {
  return (
    <dl class="stats">
      {figures.map(([name, text]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{text(row)}</dd>
        </div>
      ))}
    </dl>
  );
}

function columnsFor(by: keyof typeof dimensions): Column<Row>[] {
  return [
    { head: dimensions[by], rowHead: true, cell: (row) => <Name row={row} by={by} /> },
    ...figures.map(([head, cell, priority]) => ({ head, cell, number: true, ...(priority && { priority }) })),
  ];
}

/** What a row is about, by its name: a key's label, with the id where it has none. */
function Name({ row, by }: { row: Row; by: keyof typeof dimensions }) {
  const name = row[by] ?? '';
  if (by === 'tenant' && isTenantName(name)) return <a href={`/tenants/${name}/usage`}>{name}</a>;
  if (by !== 'key') return <>{name}</>;
  return <a href={`/keys/${name}`}>{row.label ?? `${name} (no label)`}</a>;
}

interface DaysProps {
  days: readonly Row[];
  groups: readonly Row[];
  columns: Column<Row>[];
  by: string;
  path: string;
}

/** Days, newest first, of which the newest unfold. */
function Days({ days, groups, columns, by, path }: DaysProps) {
  return (
    <div class="days">
      {days.map((day) => {
        const own = sortedByCalls(groups.filter((row) => row.day === day.day));
        const text = (
          <>
            <strong>{day.day}</strong>
            <span>{countOf(day.calls, 'call')}</span>
            <span>{countOf(day.errors, 'error')}</span>
            <span>p95 {formatMs(day.p95_ms)}</span>
          </>
        );
        return own.length === 0 ? (
          <a key={day.day} href={`${path}?from=${day.day}&to=${day.day}&by=${by}`}>
            {text}
          </a>
        ) : (
          <details key={day.day}>
            <summary>{text}</summary>
            <Table label={`${day.day} by ${by}`} rows={own.slice(0, rowsOfDay)} columns={columns} />
          </details>
        );
      })}
    </div>
  );
}

/** As many bars as a page can hold: a long span has one for several days. */
const mostBars = 280;

/** What the chart shows of a span: rows by helper, the small ones as one, and its days or the first days of several. */
function chartOf(byHelper: readonly Row[], from: string, to: string): ChartProps {
  const calls = new Map<string, number>();
  for (const { service = '', calls: count } of byHelper)
    calls.set(service, (calls.get(service) ?? 0) + count);
  const largest = [...calls].sort(([, a], [, b]) => b - a).map(([service]) => service);
  const named = new Set(largest.length > colourCount ? largest.slice(0, colourCount - 1) : largest);
  const [start, end] = [Date.parse(from), Date.parse(to)];
  const count = Math.round((end - start) / dayMs) + 1;
  const step = Math.ceil((count * Math.min(named.size + 1, colourCount)) / mostBars);
  const days = Array.from({ length: Math.ceil(count / step) }, (_, at) => dayOf(start + at * step * dayMs));
  const rows = byHelper.map(({ day = '', service = '', calls }) => ({
    day: days[Math.floor((Date.parse(day) - start) / dayMs / step)] ?? '',
    service: named.has(service) ? service : 'others',
    calls,
  }));
  return { rows, days, step };
}

const chartWidth = 720;
const chartHeight = 220;
/** Half a date, so that the first is not cut off. */
const plotLeft = 16;
/** For the scale: on the side of today, where a narrow screen begins to show the chart. */
const scaleWidth = 48;
const plotEnd = chartWidth - scaleWidth;
const plotBottom = 24;
const plotTop = 8;
/** As many colours as the style sheet has; helpers past that share the last. */
const colourCount = 8;

interface ChartProps {
  rows: readonly { day: string; service: string; calls: number }[];
  /** UTC days, oldest first, those without calls too. */
  days: readonly string[];
  /** How many days a bar stands for, from the given one on; 1 by default. */
  step?: number;
}

/** Calls a day by helper, as SVG. */
export function UsageChart({ rows, days, step: perBar = 1 }: ChartProps) {
  const services = [...new Set(rows.map(({ service }) => service))].sort();
  const bars = stackBars({ rows, days }, services);
  const peak = niceCeiling(Math.max(1, ...bars.map(({ top }) => top)));
  const plot = chartHeight - plotBottom - plotTop;
  const step = (plotEnd - plotLeft) / days.length;
  const y = (calls: number) => plotTop + plot - (calls / peak) * plot;
  const every = Math.ceil(days.length / 8);
  return (
    <figure class="chart">
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls has to be reachable with the keyboard */}
      <section class="plot" aria-label="Chart" tabIndex={0}>
        <svg
          viewBox={`0 0 ${chartWidth} ${chartHeight}`}
          role="img"
          aria-label={`Calls in ${perBar === 1 ? 'a day' : `${perBar} days`} by helper; the table below has the numbers`}
        >
          {[0, 0.5, 1].map((part) => (
            <g key={part}>
              <line class="grid" x1={plotLeft} x2={plotEnd} y1={y(peak * part)} y2={y(peak * part)} />
              <text class="axis" x={plotEnd + 8} y={y(peak * part) + 4}>
                {formatCompact(peak * part)}
              </text>
            </g>
          ))}
          {bars.map(({ day, service, calls, top }) => (
            <rect
              key={`${day} ${service}`}
              fill={colourOf(services, service)}
              x={roundTenth(plotLeft + days.indexOf(day) * step + step * 0.12)}
              y={roundTenth(y(top))}
              width={roundTenth(step * 0.76)}
              height={roundTenth((calls / peak) * plot)}
              data-tip={`${perBar === 1 ? day : `${perBar} days from ${day}`} · ${service} · ${formatCount(calls)} ${calls === 1 ? 'call' : 'calls'}`}
            >
              <title>{`${day} ${service}: ${formatCount(calls)}`}</title>
            </rect>
          ))}
          {days.map((day, index) =>
            index % every === 0 ? (
              <text
                key={day}
                class="axis"
                x={roundTenth(plotLeft + (index + 0.5) * step)}
                y={chartHeight - 6}
                text-anchor="middle"
              >
                {day.slice(5)}
              </text>
            ) : null,
          )}
        </svg>
      </section>
      <figcaption>
        {services.map((service) => (
          <span key={service} class="legend">
            <svg viewBox="0 0 10 10" aria-hidden="true">
              <rect fill={colourOf(services, service)} width="10" height="10" rx="2" />
            </svg>
            {service}
          </span>
        ))}
      </figcaption>
      <output class="tip" hidden />
    </figure>
  );
}

/** The bars of each day from the bottom up; `top` is where one ends, in calls. */
function stackBars({ rows, days }: ChartProps, services: readonly string[]) {
  const sums = new Map<string, number>();
  for (const { day, service, calls } of rows) {
    const cell = `${day} ${service}`;
    sums.set(cell, (sums.get(cell) ?? 0) + calls);
  }
  return days.flatMap((day) => {
    let top = 0;
    return services.flatMap((service) => {
      const calls = sums.get(`${day} ${service}`) ?? 0;
      top += calls;
      return calls > 0 ? [{ day, service, calls, top }] : [];
    });
  });
}

/** The next number of 1, 2 or 5 times a power of ten, so that the axis has readable steps; at least 2. */
export function niceCeiling(value: number): number {
  const power = 10 ** Math.floor(Math.log10(value));
  const factor = [1, 2, 5, 10].find((candidate) => candidate * power >= value) ?? 10;
  return Math.max(2, factor * power);
}

function colourOf(services: readonly string[], service: string): string {
  return `var(--s${Math.min(services.indexOf(service), colourCount - 1)})`;
}

function formatCompact(value: number): string {
  return Intl.NumberFormat('en', { notation: 'compact', maximumFractionDigits: 1 }).format(value);
}

function roundTenth(value: number): number {
  return Math.round(value * 10) / 10;
}
