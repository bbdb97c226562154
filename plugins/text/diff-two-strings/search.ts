import { partsBetweenAnchors } from './anchors.js';
import { createMiddleFinder } from './middle.js';
import { markAll, type Range, type Side, trimRange } from './range.js';
import { markShortest } from './shortest.js';
import { markByWindows } from './windows.js';

/**
 * Myers' search takes time with the square of the number of changes, and an attacker chooses that number. The budget
 * counts work, not time, so that the same texts give the same diff on any machine under any load: in lines compared
 * with another, of about 1 ns; a step of a path counts for several of them.
 */
const mostWork = 5_000_000;

/** Lines in a row that are unique where one alone is not, since the texts consist of few different ones. */
const anchorWidths = [1, 32, 8];

/** How often a part that is over budget is taken apart at its anchors. */
const deepest = 2;

/**
 * Marks the lines that change, a shortest set of them as long as the search stays within its budget. Past it the
 * texts are taken apart at lines that are unique on both sides (the idea of patience diff), each part gets its share
 * of the budget, and what is still too costly is searched through a sliding window. The result may then be longer than
 * it has to be; it is never wrong. Own code around the package `diff`, whose time grows with the square of the changes: it gets
 * parts with few of them.
 */
export function markDifferences(a: Side, b: Side): void {
  const total = a.lines.length + b.lines.length;
  const workPerLine = mostWork / total;
  const findMiddle = createMiddleFinder(total);
  const partsAt = (range: Range): Range[] => {
    for (const width of anchorWidths) {
      const parts = partsBetweenAnchors(a, b, range, width);
      if (parts.length > 0) return parts;
    }
    return [];
  };
  const markRange = (whole: Range, depth: number): void => {
    const range = trimRange(a, b, whole);
    if (range.aStart === range.aEnd || range.bStart === range.bEnd) {
      markAll(a, b, range);
      return;
    }
    const size = range.aEnd - range.aStart + range.bEnd - range.bStart;
    if (markShortest(a, b, range, findMiddle, workPerLine * size)) return;
    const parts = depth < deepest ? partsAt(range) : [];
    if (parts.length === 0) markByWindows(a, b, range, findMiddle, workPerLine);
    for (const part of parts) markRange(part, depth + 1);
  };
  markRange({ aStart: 0, aEnd: a.lines.length, bStart: 0, bEnd: b.lines.length }, 0);
}
