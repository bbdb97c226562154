import { diffArrays } from 'diff';

/** One text in a search: its lines as numbers, and a mark for each line that the other text has no partner for. */
interface Side {
  lines: Int32Array;
  changed: Uint8Array;
}

/** A part of both texts; ends are excluded. */
interface Range {
  aStart: number;
  aEnd: number;
  bStart: number;
  bEnd: number;
}

/** The range without the lines that its two sides begin and end with in common. */
function trimRange(a: Side, b: Side, range: Range): Range {
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

function isOneSided({ aStart, aEnd, bStart, bEnd }: Range): boolean {
  return aStart === aEnd || bStart === bEnd;
}

/** Marks every line of the range as changed. */
function markAll(a: Side, b: Side, range: Range): void {
  a.changed.fill(1, range.aStart, range.aEnd);
  b.changed.fill(1, range.bStart, range.bEnd);
}

/**
 * Myers' search takes time with the square of the number of changes, and an attacker chooses that number. The budget
 * counts work, not time, so that the same texts give the same diff on any machine under any load: in lines compared
 * with another, of about 1 ns; a step of a path counts for several of them.
 */
const mostWork = 5_000_000;

/** Lines in a row that are unique where one alone is not, since the texts consist of few different ones. */
const anchorWidths = [1, 32, 8];

/** How often a part that is over budget is split at its anchors. */
const deepest = 2;

/**
 * Marks the lines that change, a shortest set of them as long as the search stays within its budget. Past it the
 * texts are split at lines that are unique on both sides (the idea of patience diff), each part gets its share
 * of the budget, and what is still too costly is searched through a sliding window. The result may then be longer than
 * it has to be; it is never wrong. Own code around the package `diff`, whose time grows with the square of the changes: it gets
 * parts with few of them.
 */
export function markDifferences(a: Side, b: Side): void {
  const total = a.lines.length + b.lines.length;
  const workPerLine = mostWork / total;
  const findMiddle = createMiddleFinder(total);
  const markRange = (whole: Range, depth: number): void => {
    const range = trimRange(a, b, whole);
    if (isOneSided(range)) {
      markAll(a, b, range);
      return;
    }
    const size = range.aEnd - range.aStart + range.bEnd - range.bStart;
    if (markShortest(a, b, range, findMiddle, workPerLine * size)) return;
    for (const width of depth < deepest ? anchorWidths : []) {
      const parts = partsBetweenAnchors(a, b, range, width);
      for (const part of parts) markRange(part, depth + 1);
      if (parts.length > 0) return;
    }
    markByWindows(a, b, range, findMiddle, workPerLine);
  };
  markRange({ aStart: 0, aEnd: a.lines.length, bStart: 0, bEnd: b.lines.length }, 0);
}

const noPosition = 0;
const manyPositions = -1;

/** Fewer sequences than this that are unique on both sides can be chance. */
const fewestPairs = 16;

/**
 * The parts of a range between its anchors: sequences of `width` lines that occur once on each side, in the longest order
 * that both sides share. No anchors, no parts. After Bram Cohen's patience diff, which has a width of 1.
 * Wider anchors are believed only if most of them are in the same order: those that unlike texts share by chance are not.
 */
function partsBetweenAnchors(a: Side, b: Side, range: Range, width: number): Range[] {
  const inA = notePositions(a.lines, range.aStart, range.aEnd, width);
  const inB = notePositions(b.lines, range.bStart, range.bEnd, width);
  // Tables of different sizes put one sequence in different places: each is asked by the hash, not by the place.
  const pairs: Pair[] = [];
  inA.forEachOnly((at, hash) => {
    const other = inB.only(hash);
    if (other !== undefined && sameLines(a.lines, at, b.lines, other, width)) pairs.push({ a: at, b: other });
  });
  const anchors = longestRising(pairs);
  if (width > 1 && (pairs.length < fewestPairs || anchors.length < pairs.length / 2)) return [];
  return partsBetween(anchors, range);
}

interface Pair {
  a: number;
  b: number;
}

/**
 * Where each sequence of lines occurs, by its hash. Two that share a place in the table count as one that occurs
 * often: that costs an anchor, never a wrong one.
 */
function notePositions(lines: Int32Array, start: number, end: number, width: number) {
  const bits = Math.max(4, Math.ceil(Math.log2(4 * (end - start))));
  const positions = new Int32Array(2 ** bits);
  const hashes = hashSequences(lines, start, end, width);
  const placeOf = (hash: number) => Math.imul(hash, 0x9e3779b1) >>> (32 - bits);
  hashes.forEach((hash, index) => {
    const place = placeOf(hash);
    positions[place] = positions[place] === noPosition ? start + index + 1 : manyPositions;
  });
  const only = (hash: number): number | undefined => {
    const position = positions[placeOf(hash)] as number;
    return position > noPosition ? position - 1 : undefined;
  };
  const forEachOnly = (visit: (at: number, hash: number) => void): void => {
    hashes.forEach((hash, index) => {
      if (only(hash) === start + index) visit(start + index, hash);
    });
  };
  return { only, forEachOnly };
}

/** The hash of the `width` lines from each position on, rolled from one to the next. */
function hashSequences(lines: Int32Array, start: number, end: number, width: number): Int32Array {
  const hashes = new Int32Array(Math.max(0, end - start - width + 1));
  let leaving = 1;
  for (let step = 0; step < width; step++) leaving = Math.imul(leaving, 0x01000193);
  let hash = 0;
  for (let at = start; at < end; at++) {
    hash = Math.imul(hash, 0x01000193) + (lines[at] as number) + 1;
    const first = at - width + 1;
    if (first > start) hash -= Math.imul(leaving, (lines[first - 1] as number) + 1);
    hash |= 0;
    if (first >= start) hashes[first - start] = hash;
  }
  return hashes;
}

function sameLines(left: Int32Array, a: number, right: Int32Array, b: number, width: number): boolean {
  for (let offset = 0; offset < width; offset++) {
    if (left[a + offset] !== right[b + offset]) return false;
  }
  return true;
}

/** The longest subsequence in which `b` rises too, by patience sorting: O(n log n). */
function longestRising(pairs: Pair[]): Pair[] {
  const tops: number[] = [];
  const previous = new Int32Array(pairs.length);
  pairs.forEach((pair, index) => {
    let low = 0;
    let high = tops.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((pairs[tops[middle] as number] as Pair).b < pair.b) low = middle + 1;
      else high = middle;
    }
    previous[index] = low > 0 ? (tops[low - 1] as number) : -1;
    tops[low] = index;
  });
  const rising: Pair[] = [];
  for (let index = tops.at(-1) ?? -1; index !== -1; index = previous[index] as number) {
    rising.push(pairs[index] as Pair);
  }
  return rising.reverse();
}

function partsBetween(anchors: Pair[], { aStart, aEnd, bStart, bEnd }: Range): Range[] {
  if (anchors.length === 0) return [];
  const parts: Range[] = [];
  let start = { a: aStart, b: bStart };
  for (const anchor of [...anchors, { a: aEnd, b: bEnd }]) {
    parts.push({ aStart: start.a, aEnd: anchor.a, bStart: start.b, bEnd: anchor.b });
    start = { a: anchor.a + 1, b: anchor.b + 1 };
  }
  return parts;
}

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
    if (isOneSided(range)) {
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

/** Lines looked ahead, both sides together. */
const nearReach = 12;

/**
 * Greedy: marks what lies before the nearest pair of equal lines, the one that skips the fewest lines of both sides,
 * and moves the start of `rest` past that pair; one line of each side where no pair is in reach. At most reach² / 2
 * comparisons.
 */
function markNearest(a: Side, b: Side, rest: Range): void {
  const pair = nearestPair(a.lines, b.lines, rest);
  const aEnd = pair?.a ?? rest.aStart + 1;
  const bEnd = pair?.b ?? rest.bStart + 1;
  markAll(a, b, { ...rest, aEnd, bEnd });
  rest.aStart = aEnd + (pair ? 1 : 0);
  rest.bStart = bEnd + (pair ? 1 : 0);
}

function nearestPair(left: Int32Array, right: Int32Array, { aStart, aEnd, bStart, bEnd }: Range) {
  for (let distance = 0; distance < nearReach; distance++) {
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

/** Lines of either side seen at once, in the order in which they are tried: unlike texts get the shorter look. */
const windowSizes = [128, 32];

/**
 * Marks changes that are short locally: the shortest diff of the next lines of either side is kept up to about its
 * middle, where the next window begins. What lies ahead in the window keeps the two sides in step. Where even the
 * shortest window's diff costs more than `workPerLine`, it goes on to the nearest equal lines instead.
 */
function markByWindows(a: Side, b: Side, range: Range, findMiddle: FindMiddle, workPerLine: number): void {
  const rest = { ...range };
  const advance = (count: number, [size, ...smaller]: number[]): void => {
    const end = rest.aStart + rest.bStart + count;
    while (rest.aStart < rest.aEnd && rest.bStart < rest.bEnd && rest.aStart + rest.bStart < end) {
      if (size === undefined) markNearest(a, b, rest);
      else if (!markWindow(a, b, rest, size, findMiddle, size * workPerLine)) advance(size, smaller);
    }
  };
  advance(Number.POSITIVE_INFINITY, windowSizes);
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
