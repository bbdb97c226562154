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

/** Changes that a path from either end makes at most; many only where one of the texts is short beside the other. */
const longest = 50_000;

/** What a step of a path costs beside the comparison of two lines, which is the unit of work. */
const stepWork = 4;

/** A point on a shortest path through a range: it removes and adds `before` lines up to there and `after` from there on. */
interface Middle {
  a: number;
  b: number;
  before: number;
  after: number;
}

/**
 * Finds where a shortest path through a range has half of its changes behind it, by paths from both ends that meet; undefined
 * where that takes more than `allowance` of work. The range is trimmed, with lines on both sides.
 */
export type FindMiddle = (
  left: Int32Array,
  right: Int32Array,
  range: Range,
  allowance: number,
) => Middle | undefined;

/**
 * Eugene W. Myers, "An O(ND) Difference Algorithm and Its Variations" (1986), section 4b. The farthest points of the paths are
 * kept by diagonal, each at its distance from the one that its paths begin on. `lines`: of both texts together, at most.
 */
export function createMiddleFinder(lines: number): FindMiddle {
  const reach = Math.min(lines, longest) + 2;
  const forward = new Int32Array(2 * reach + 1);
  const backward = new Int32Array(2 * reach + 1);

  return function findMiddle(left, right, { aStart, aEnd, bStart, bEnd }, allowance) {
    const rows = bEnd - bStart;
    const columns = aEnd - aStart;
    const first = aStart - bStart;
    const last = aEnd - bEnd;
    const odd = ((first - last) & 1) !== 0;
    const toForward = reach - first;
    const toBackward = reach - last;
    let forwardLow = first;
    let forwardHigh = first;
    let backwardLow = last;
    let backwardHigh = last;
    forward[reach] = aStart;
    backward[reach] = aEnd;
    let work = 0;
    // No path adds more lines than there are, nor removes more: past that the outermost diagonals have none.
    for (let length = 1; work <= allowance && length < reach; length++) {
      if (length <= rows) forward[--forwardLow - 1 + toForward] = -1;
      else forwardLow++;
      if (length <= columns) forward[++forwardHigh + 1 + toForward] = -1;
      else forwardHigh--;
      let above = forward[forwardHigh + 1 + toForward] as number;
      for (let diagonal = forwardHigh; diagonal >= forwardLow; diagonal -= 2) {
        const below = forward[diagonal - 1 + toForward] as number;
        const start = Math.max(below + 1, above);
        above = below;
        let at = start;
        while (at < aEnd && at - diagonal < bEnd && left[at] === right[at - diagonal]) at++;
        forward[diagonal + toForward] = at;
        work += stepWork + at - start;
        if (
          odd &&
          diagonal >= backwardLow &&
          diagonal <= backwardHigh &&
          (backward[diagonal + toBackward] as number) <= at
        )
          return { a: at, b: at - diagonal, before: length, after: length - 1 };
      }
      if (length <= columns) backward[--backwardLow - 1 + toBackward] = 0x7fffffff;
      else backwardLow++;
      if (length <= rows) backward[++backwardHigh + 1 + toBackward] = 0x7fffffff;
      else backwardHigh--;
      above = backward[backwardHigh + 1 + toBackward] as number;
      for (let diagonal = backwardHigh; diagonal >= backwardLow; diagonal -= 2) {
        const below = backward[diagonal - 1 + toBackward] as number;
        const start = Math.min(below, above - 1);
        above = below;
        let at = start;
        while (at > aStart && at - diagonal > bStart && left[at - 1] === right[at - 1 - diagonal]) at--;
        backward[diagonal + toBackward] = at;
        work += stepWork + start - at;
        if (
          !odd &&
          diagonal >= forwardLow &&
          diagonal <= forwardHigh &&
          (forward[diagonal + toForward] as number) >= at
        )
          return { a: at, b: at - diagonal, before: length, after: length };
      }
    }
    return undefined;
  };
}
