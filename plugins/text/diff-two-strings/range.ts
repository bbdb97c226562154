/** One text in a search: its lines as numbers, and a mark for each line that the other text has no partner for. */
export interface Side {
  lines: Int32Array;
  changed: Uint8Array;
}

/** A part of both texts; ends are excluded. */
export interface Range {
  aStart: number;
  aEnd: number;
  bStart: number;
  bEnd: number;
}

/** The range without the lines that its two sides begin and end with in common. */
export function trimRange(a: Side, b: Side, range: Range): Range {
  let { aStart, aEnd, bStart, bEnd } = range;
  while (aStart < aEnd && bStart < bEnd && a.lines[aStart] === b.lines[bStart]) {
    aStart++;
    bStart++;
  }
  while (aStart < aEnd && bStart < bEnd && a.lines[aEnd - 1] === b.lines[bEnd - 1]) {
    aEnd--;
    bEnd--;
  }
  return { aStart, aEnd, bStart, bEnd };
}

/** Marks every line of the range as changed. */
export function markAll(a: Side, b: Side, range: Range): void {
  a.changed.fill(1, range.aStart, range.aEnd);
  b.changed.fill(1, range.bStart, range.bEnd);
}
