import { formatCount } from './elements.js';

const sparkWidth = 100;
const sparkHeight = 24;

/** How a figure went over some days, as a line, dotted to the last day, which is not over; `label` says what it shows. */
export function Sparkline({ values, label }: { values: readonly number[]; label: string }) {
  const peak = Math.max(1, ...values);
  const step = sparkWidth / Math.max(1, values.length - 1);
  const points = values.map((value, index) => {
    const y = sparkHeight - 1 - (value / peak) * (sparkHeight - 2);
    return `${Math.round(index * step)},${Math.round(y * 10) / 10}`;
  });
  return (
    <svg class="spark" viewBox={`0 0 ${sparkWidth} ${sparkHeight}`} role="img" aria-label={label}>
      <polyline points={points.slice(0, -1).join(' ')} />
      <polyline points={points.slice(-2).join(' ')} stroke-dasharray="2 3" />
    </svg>
  );
}

type Part = readonly [value: number, look: 'accent' | 'good' | 'warn' | 'bad' | 'quiet'];

/** Parts of a whole as one bar, with the same in words beside it. */
export function PartsBar({ parts, of, text }: { parts: readonly Part[]; of: number; text: string }) {
  let left = 0;
  return (
    <span class="bar">
      <svg viewBox="0 0 100 8" preserveAspectRatio="none" aria-hidden="true">
        {parts.map(([value, look]) => {
          const x = left;
          const width = of > 0 ? Math.max(0, Math.min(100 - x, (value / of) * 100)) : 0;
          left += width;
          return <rect key={look} class={look} x={x} width={width} height="8" />;
        })}
      </svg>
      <span>{text}</span>
    </span>
  );
}

/** How much of a limit is used, in words too; where there is none, what is used. */
export function Bar(props: { used: number; limit: number | null; format?: (value: number) => string }) {
  const { used, limit, format = formatCount } = props;
  if (limit === null) return <>{format(used)}</>;
  const share = limit > 0 ? used / limit : 1;
  const look = share >= 1 ? 'bad' : share >= 0.8 ? 'warn' : 'accent';
  const text = `${format(used)} of ${format(limit)} (${Math.floor(share * 100)} %)`;
  return <PartsBar parts={[[used, look]]} of={limit} text={text} />;
}
