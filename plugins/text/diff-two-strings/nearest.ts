import { markAll, type Range, type Side } from './range.js';

/** Lines looked ahead, both sides together. */
const reach = 12;

/**
 * Greedy: marks what lies before the nearest pair of equal lines, the one that skips the fewest lines of both sides,
 * and moves the start of `rest` past that pair; one line of each side where no pair is in reach. At most reach² / 2
 * comparisons.
 */
export function markNearest(a: Side, b: Side, rest: Range): void {
  const pair = nearestPair(a.lines, b.lines, rest);
  const aEnd = pair?.a ?? rest.aStart + 1;
  const bEnd = pair?.b ?? rest.bStart + 1;
  markAll(a, b, { ...rest, aEnd, bEnd });
  rest.aStart = aEnd + (pair ? 1 : 0);
  rest.bStart = bEnd + (pair ? 1 : 0);
}

function nearestPair(left: Int32Array, right: Int32Array, { aStart, aEnd, bStart, bEnd }: Range) {
  for (let distance = 0; distance < reach; distance++) {
    const least = Math.max(0, distance - (bEnd - 1 - bStart));
    const most = Math.min(distance, aEnd - 1 - aStart);
    for (let skip = least; skip <= most; skip++) {
      const a = aStart + skip;
      const b = bStart + distance - skip;
      if (left[a] === right[b]) return { a, b };
    }
  }
  return undefined;
}
