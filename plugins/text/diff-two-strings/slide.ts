import type { Change } from './change.js';

/** Lines that a change moves at most; without it many changes in a text of one repeated line could each cross all of it. */
const reach = 100;

/**
 * The same number of changed lines in fewer, better placed changes. Lines that are only added or only removed can be
 * moved along where a text repeats itself: they join the change before or after them if they reach it, else they go
 * down as far as they can, where GNU diff puts them too and where a block most often begins at its own first line.
 * `left` and `right` are the numbered lines of the texts. Own code because the package `diff` leaves a change where
 * its search came upon it.
 */
export function slideChanges(left: Int32Array, right: Int32Array, changes: readonly Change[]): Change[] {
  const up: Change[] = [];
  for (const change of changes) {
    const previous = up.at(-1);
    const moved = slide(left, right, change, -1, previous?.aEnd ?? 0);
    if (previous && previous.aEnd === moved.aStart) up[up.length - 1] = join(previous, moved);
    else up.push(moved);
  }
  const down: Change[] = [];
  for (const change of up.reverse()) {
    const next = down.at(-1);
    const moved = slide(left, right, change, 1, next?.aStart ?? left.length);
    if (next && next.aStart === moved.aEnd) down[down.length - 1] = join(moved, next);
    else down.push(moved);
  }
  return down.reverse();
}

/** The change moved up (-1) or down (1) as far as the text repeats, at most to line `limit` of the old text. */
function slide(left: Int32Array, right: Int32Array, change: Change, step: -1 | 1, limit: number): Change {
  const adds = change.aStart === change.aEnd;
  if (!adds && change.bStart < change.bEnd) return change;
  const lines = adds ? right : left;
  const start = adds ? change.bStart : change.aStart;
  const end = adds ? change.bEnd : change.aEnd;
  const edge = step === 1 ? 0 : -1;
  const room = Math.min(reach, step === 1 ? limit - change.aEnd : change.aStart - limit);
  let by = 0;
  while (by < room && lines[start + by * step + edge] === lines[end + by * step + edge]) by++;
  return {
    aStart: change.aStart + by * step,
    aEnd: change.aEnd + by * step,
    bStart: change.bStart + by * step,
    bEnd: change.bEnd + by * step,
  };
}

function join(first: Change, second: Change): Change {
  return { aStart: first.aStart, aEnd: second.aEnd, bStart: first.bStart, bEnd: second.bEnd };
}
