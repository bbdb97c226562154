import { diffArrays } from 'diff';
import { markAll, type Range, type Side } from './range.js';

/**
 * Marks a shortest set of changes in the range and moves its start to where it stopped marking. Where the shortest
 * set has more than `maxEditLength` lines it marks and moves nothing and answers false. `keep`: lines of both sides
 * together after which it stops at the next common line.
 */
export function markShortest(
  a: Side,
  b: Side,
  range: Range,
  maxEditLength: number,
  keep = Number.POSITIVE_INFINITY,
): boolean {
  const left = a.lines.subarray(range.aStart, range.aEnd);
  const right = b.lines.subarray(range.bStart, range.bEnd);
  const parts = diffArrays(asArray(left), asArray(right), { maxEditLength });
  if (!parts) return false;
  const end = range.aStart + range.bStart + keep;
  for (const { count, added, removed } of parts) {
    const common = !added && !removed;
    if (common && range.aStart + range.bStart >= end) break;
    const aEnd = range.aStart + (added ? 0 : count);
    const bEnd = range.bStart + (removed ? 0 : count);
    if (!common) markAll(a, b, { ...range, aEnd, bEnd });
    range.aStart = aEnd;
    range.bStart = bEnd;
  }
  return true;
}

/** diffArrays only reads elements, `length` and `slice`, and is several times faster when that is not a copy. */
function asArray(lines: Int32Array): number[] {
  return lines as unknown as number[];
}
