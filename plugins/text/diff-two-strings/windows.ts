import type { FindMiddle } from './middle.js';
import { markNearest } from './nearest.js';
import { markAll, type Range, type Side } from './range.js';
import { markShortest } from './shortest.js';

/** Lines of either side seen at once, in the order in which they are tried: unlike texts get the shorter look. */
const sizes = [128, 32];

/**
 * Marks changes that are short locally: the shortest diff of the next lines of either side is kept up to about its
 * middle, where the next window begins. What lies ahead in the window keeps the two sides in step. Where even the
 * shortest window's diff costs more than `workPerLine`, the nearest equal lines are taken instead.
 */
export function markByWindows(
  a: Side,
  b: Side,
  range: Range,
  findMiddle: FindMiddle,
  workPerLine: number,
): void {
  const rest = { ...range };
  const advance = (count: number, [size, ...smaller]: number[]): void => {
    const end = rest.aStart + rest.bStart + count;
    while (rest.aStart < rest.aEnd && rest.bStart < rest.bEnd && rest.aStart + rest.bStart < end) {
      if (size === undefined) markNearest(a, b, rest);
      else if (!markWindow(a, b, rest, size, findMiddle, size * workPerLine)) advance(size, smaller);
    }
  };
  advance(Number.POSITIVE_INFINITY, sizes);
  markAll(a, b, rest);
}

function markWindow(
  a: Side,
  b: Side,
  rest: Range,
  size: number,
  findMiddle: FindMiddle,
  allowance: number,
): boolean {
  const aEnd = Math.min(rest.aStart + size, rest.aEnd);
  const bEnd = Math.min(rest.bStart + size, rest.bEnd);
  if (!markShortest(a, b, { ...rest, aEnd, bEnd }, findMiddle, allowance)) return false;
  const end = rest.aStart + rest.bStart + size;
  while (rest.aStart < aEnd || rest.bStart < bEnd) {
    if (a.changed[rest.aStart] && rest.aStart < aEnd) rest.aStart++;
    else if (b.changed[rest.bStart] && rest.bStart < bEnd) rest.bStart++;
    else if (rest.aStart + rest.bStart >= end) break;
    else {
      rest.aStart++;
      rest.bStart++;
    }
  }
  a.changed.fill(0, rest.aStart, aEnd);
  b.changed.fill(0, rest.bStart, bEnd);
  return true;
}
