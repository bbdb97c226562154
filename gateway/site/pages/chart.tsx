import type { UsageRow } from '../options.js';
import { count } from './elements.js';

const width = 720;
const height = 220;
/** Half a date, so that the first is not cut off. */
const left = 16;
/** Room for the scale: on the side of today, where a narrow screen begins to show the chart. */
const right = 48;
const end = width - right;
const bottom = 24;
const top = 8;
/** As many colours as the style sheet has; helpers past that share the last. */
const colours = 8;

/** What of a row of usage the chart shows. */
type ChartRow = Pick<UsageRow, 'day' | 'service' | 'calls'>;

export interface ChartProps {
  rows: readonly ChartRow[];
  /** UTC days, oldest first, those without calls too. */
  days: readonly string[];
}

interface Bar {
  day: string;
  service: string;
  calls: number;
  /** Calls below it in its stack. */
  below: number;
}

/**
 * Calls a day, stacked by helper, as SVG that needs no script. Colours come from the style sheet by class, as the page's
 * policy allows no style in it. The table under it says the same to those who cannot see it.
 */
export function UsageChart({ rows, days }: ChartProps) {
  const services = [...new Set(rows.map(({ service }) => service))].sort();
  const bars = stack(rows, days, services);
  const peak = niceCeiling(Math.max(1, ...bars.map(({ calls, below }) => calls + below)));
  const plot = height - bottom - top;
  const step = (end - left) / days.length;
  const y = (calls: number) => top + plot - (calls / peak) * plot;
  const every = Math.ceil(days.length / 8);
  return (
    <figure class="chart">
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls has to be reachable with the keyboard */}
      <section class="plot" aria-label="Chart" tabIndex={0}>
        <svg
          viewBox={`0 0 ${width} ${height}`}
          role="img"
          aria-label="Calls a day by helper; the table below has the numbers"
        >
          {[0, 0.5, 1].map((part) => (
            <g key={part}>
              <line class="grid" x1={left} x2={end} y1={y(peak * part)} y2={y(peak * part)} />
              <text class="axis" x={end + 8} y={y(peak * part) + 4}>
                {short(peak * part)}
              </text>
            </g>
          ))}
          {bars.map(({ day, service, calls, below }) => (
            <rect
              key={`${day} ${service}`}
              class={colourOf(services, service)}
              x={round(left + days.indexOf(day) * step + step * 0.12)}
              y={round(y(calls + below))}
              width={round(step * 0.76)}
              height={round((calls / peak) * plot)}
              data-tip={`${day} · ${service} · ${count(calls)} ${calls === 1 ? 'call' : 'calls'}`}
            >
              <title>{`${day} ${service}: ${count(calls)}`}</title>
            </rect>
          ))}
          {days.map((day, index) =>
            index % every === 0 ? (
              <text
                key={day}
                class="axis"
                x={round(left + (index + 0.5) * step)}
                y={height - 6}
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
              <rect class={colourOf(services, service)} width="10" height="10" rx="2" />
            </svg>
            {service}
          </span>
        ))}
      </figcaption>
      <output class="tip" hidden />
    </figure>
  );
}

function stack(rows: readonly ChartRow[], days: readonly string[], services: readonly string[]): Bar[] {
  const sums = new Map<string, number>();
  for (const { day, service, calls } of rows) {
    const cell = `${day} ${service}`;
    sums.set(cell, (sums.get(cell) ?? 0) + calls);
  }
  return days.flatMap((day) => {
    let below = 0;
    const bars: Bar[] = [];
    for (const service of services) {
      const calls = sums.get(`${day} ${service}`) ?? 0;
      if (calls > 0) bars.push({ day, service, calls, below });
      below += calls;
    }
    return bars;
  });
}

/** The next number of 1, 2 or 5 times a power of ten, so that the axis has readable steps; at least 2. */
export function niceCeiling(value: number): number {
  const power = 10 ** Math.floor(Math.log10(value));
  const factor = [1, 2, 5, 10].find((candidate) => candidate * power >= value) ?? 10;
  return Math.max(2, factor * power);
}

function colourOf(services: readonly string[], service: string): string {
  return `series-${Math.min(services.indexOf(service), colours - 1)}`;
}

function short(value: number): string {
  return Intl.NumberFormat('en', { notation: 'compact', maximumFractionDigits: 1 }).format(value);
}

function round(value: number): number {
  return Math.round(value * 10) / 10;
}
