import { diffArrays } from 'diff';
import type { FindMiddle } from './middle.js';
import { markAll, type Range, type Side, trimRange } from './range.js';

/** Changed lines up to which the package `diff` is quick: its time grows with their square. */
const mostEdits = 8;

/**
 * Marks a shortest set of changes in the range. Where finding it takes more than `allowance` of work it marks nothing and
 * answers false.
 */
export function markShortest(
  a: Side,
  b: Side,
  whole: Range,
  findMiddle: FindMiddle,
  allowance: number,
): boolean {
  const markRange = (part: Range, edits: number, work: number): boolean => {
    const range = trimRange(a, b, part);
    if (range.aStart === range.aEnd || range.bStart === range.bEnd) {
      markAll(a, b, range);
      return true;
    }
    if (edits <= mostEdits) {
      markFew(a, b, range);
      return true;
    }
    const middle = findMiddle(a.lines, b.lines, range, work);
    if (!middle) return false;
    markRange({ ...range, aEnd: middle.a, bEnd: middle.b }, middle.before, Number.POSITIVE_INFINITY);
    markRange({ ...range, aStart: middle.a, bStart: middle.b }, middle.after, Number.POSITIVE_INFINITY);
    return true;
  };
  return markRange(whole, Number.POSITIVE_INFINITY, allowance);
}

function markFew(a: Side, b: Side, range: Range): void {
  const left = a.lines.subarray(range.aStart, range.aEnd);
  const right = b.lines.subarray(range.bStart, range.bEnd);
  let { aStart, bStart } = range;
  for (const { count, added, removed } of diffArrays(asArray(left), asArray(right))) {
    const aEnd = aStart + (added ? 0 : count);
    const bEnd = bStart + (removed ? 0 : count);
    if (added || removed) markAll(a, b, { aStart, aEnd, bStart, bEnd });
    aStart = aEnd;
    bStart = bEnd;
  }
}

/** diffArrays only reads elements, `length` and `slice`, and is several times faster when that is not a copy. */
function asArray(lines: Int32Array): number[] {
  return lines as unknown as number[];
}
