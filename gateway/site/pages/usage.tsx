import type { UsageRow } from '../../usage/report.js';
import { dayMs, dayOf } from '../../usage/store.js';
import { get, type TenantCall } from '../page.js';
import { Page } from './document.js';
import { Empty, formatBytes, formatCount, formatDuration, Table } from './elements.js';

const daySpans = [7, 30, 90] as const;
/** As many rows as are read; the JSON API pages through more. */
const maxRows = 5_000;
const rowsShown = 60;

export const usagePages = [get.tenant('/tenants/:tenant/usage', usagePage)];

async function usagePage(call: TenantCall) {
  const { site, query } = call;
  const { id, name } = call.tenant;
  const span = daySpans.find((days) => String(days) === query.get('days')) ?? 30;
  const all = query.get('rows') === 'all';
  const days = lastDays(site.now(), span);
  const [from, to] = [days[0], days.at(-1)];
  const { rows, next } = await site.usage(id, { ...(from && { from }), ...(to && { to }), limit: maxRows });
  return (
    <Page tenant={name} title={`Usage of ${name}`}>
      <div class="heading">
        <h2>Usage</h2>
        <nav class="spans" aria-label="Days shown">
          {daySpans.map((days) => (
            <a
              key={days}
              href={`/tenants/${name}/usage?days=${days}`}
              aria-current={days === span ? 'true' : undefined}
            >
              {days} days
            </a>
          ))}
        </nav>
      </div>
      <Empty of={rows} title={`No calls in the last ${span} days`}>
        Issue a key under <a href={`/tenants/${name}`}>Keys</a> and make a call with it: it shows here within
        five seconds.
      </Empty>
      {rows.length > 0 && (
        <>
          <Sums rows={rows} />
          <UsageChart rows={rows} days={days} />
          <UsageTable tenant={name} rows={all ? rows : rows.slice(0, rowsShown)} />
          {!all && rows.length > rowsShown && (
            <p>
              <a href={`/tenants/${name}/usage?days=${span}&rows=all`}>
                Show all {formatCount(rows.length)} rows
              </a>
            </p>
          )}
          {next && (
            <p class="quiet">
              There are more rows than {formatCount(maxRows)}; the JSON API has all of them.
            </p>
          )}
        </>
      )}
    </Page>
  );
}

/** The figures of a row, which can be added up. */
const figures = [
  ['calls', 'Calls', formatCount],
  ['errors', 'Errors', formatCount],
  ['bytes_in', 'In', formatBytes],
  ['bytes_out', 'Out', formatBytes],
  ['cpu_ms', 'CPU time', formatDuration],
] as const;

function Sums({ rows }: { rows: readonly UsageRow[] }) {
  return (
    <dl class="stats">
      {figures.map(([field, name, format]) => (
        <div key={field}>
          <dt>{name}</dt>
          <dd>{format(rows.reduce((total, row) => total + row[field], 0))}</dd>
        </div>
      ))}
    </dl>
  );
}

function UsageTable({ tenant, rows }: { tenant: string; rows: readonly UsageRow[] }) {
  const keyLink = (id: string) => (
    <a href={`/tenants/${tenant}/keys/${id}`}>
      <code>{id}</code>
    </a>
  );
  return (
    <Table
      label={`Usage of ${tenant} by day, helper and key`}
      rows={rows}
      columns={[
        { head: 'Day (UTC)', cell: ({ day }) => day },
        { head: 'Helper', cell: ({ service }) => service },
        { head: 'Key', cell: ({ key }) => keyLink(key) },
        ...figures.map(([field, head, format]) => ({
          head,
          number: true,
          cell: (row: UsageRow) => format(row[field]),
        })),
      ]}
    />
  );
}

/** The last `count` UTC days, today included, oldest first. */
function lastDays(now: number, count: number): string[] {
  return Array.from({ length: count }, (_, index) => dayOf(now - (count - 1 - index) * dayMs));
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
  rows: readonly Pick<UsageRow, 'day' | 'service' | 'calls'>[];
  /** UTC days, oldest first, those without calls too. */
  days: readonly string[];
}

/** Calls a day by helper, as SVG. */
export function UsageChart({ rows, days }: ChartProps) {
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
          aria-label="Calls a day by helper; the table below has the numbers"
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
              data-tip={`${day} · ${service} · ${formatCount(calls)} ${calls === 1 ? 'call' : 'calls'}`}
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
