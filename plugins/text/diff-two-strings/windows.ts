import { markNearest } from './nearest.js';
import { markAll, type Range, type Side } from './range.js';
import { markShortest } from './shortest.js';

/** Lines of either side seen at once, in the order in which they are tried: unlike texts get the shorter look. */
const sizes = [128, 32];

/**
 * Marks changes that are short locally: the shortest diff of the next lines of either side is kept up to about its
 * middle, where the next window begins. What lies ahead in the window keeps the two sides in step. Where even the
 * shortest window's diff costs more than `stepsPerLine`, the nearest equal lines are taken instead; a size whose budget
 * is too small for any but nearly equal lines is not tried at all.
 */
export function markByWindows(a: Side, b: Side, range: Range, stepsPerLine: number): void {
  const rest = { ...range };
  const advance = (count: number, [size, ...smaller]: number[]): void => {
    const end = rest.aStart + rest.bStart + count;
    while (rest.aStart < rest.aEnd && rest.bStart < rest.bEnd && rest.aStart + rest.bStart < end) {
      if (size === undefined) markNearest(a, b, rest);
      else if (!markWindow(a, b, rest, size, stepsPerLine)) advance(size, smaller);
    }
  };
  advance(
    Number.POSITIVE_INFINITY,
    sizes.filter((size) => editLimit(size, stepsPerLine) >= size / 4),
  );
  markAll(a, b, rest);
}

/** Myers' search for an edit length of n takes about n² / 2 steps; a window brings the search `size` lines further. */
function editLimit(size: number, stepsPerLine: number): number {
  return Math.floor(Math.sqrt(2 * stepsPerLine * size));
}

function markWindow(a: Side, b: Side, rest: Range, size: number, stepsPerLine: number): boolean {
  const aEnd = Math.min(rest.aStart + size, rest.aEnd);
  const bEnd = Math.min(rest.bStart + size, rest.bEnd);
  const window = { ...rest, aEnd, bEnd };
  if (!markShortest(a, b, window, editLimit(size, stepsPerLine), size)) return false;
  rest.aStart = window.aStart;
  rest.bStart = window.bStart;
  return true;
}
