import type { Change } from './change.js';
import { markDifferences } from './search.js';
import { slideChanges } from './slide.js';

/**
 * The changes that turn one numbered text into another, in order, with at least one common line between any two.
 * A line that the other side has nowhere is a change whatever the search finds, so it is left out of the search;
 * this takes nothing from the shortness of the result and makes unlike texts cheap.
 */
export function findChanges(left: Int32Array, right: Int32Array, distinct: number): Change[] {
  const removed = new Uint8Array(left.length);
  const added = new Uint8Array(right.length);
  const keptLeft = sharedPositions(left, right, distinct, removed);
  const keptRight = sharedPositions(right, left, distinct, added);
  const goneLeft = new Uint8Array(keptLeft.length);
  const goneRight = new Uint8Array(keptRight.length);
  markDifferences(
    { lines: keptLeft.map((at) => left[at] as number), changed: goneLeft },
    { lines: keptRight.map((at) => right[at] as number), changed: goneRight },
  );
  keptLeft.forEach((at, index) => {
    removed[at] = goneLeft[index] as number;
  });
  keptRight.forEach((at, index) => {
    added[at] = goneRight[index] as number;
  });
  return slideChanges(left, right, collect(removed, added));
}

/** Where `lines` holds a line that `other` has too; the rest is marked as changed. */
function sharedPositions(lines: Int32Array, other: Int32Array, distinct: number, changed: Uint8Array) {
  const inOther = new Uint8Array(distinct);
  for (const line of other) inOther[line] = 1;
  const kept = new Int32Array(lines.length);
  let count = 0;
  for (let at = 0; at < lines.length; at++) {
    if (inOther[lines[at] as number]) kept[count++] = at;
    else changed[at] = 1;
  }
  return kept.subarray(0, count);
}

function collect(removed: Uint8Array, added: Uint8Array): Change[] {
  const changes: Change[] = [];
  let a = 0;
  let b = 0;
  while (a < removed.length || b < added.length) {
    const aStart = a;
    const bStart = b;
    while (removed[a]) a++;
    while (added[b]) b++;
    if (a > aStart || b > bStart) {
      changes.push({ aStart, aEnd: a, bStart, bEnd: b });
      continue;
    }
    a++;
    b++;
  }
  return changes;
}
