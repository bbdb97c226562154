import type { Range, Side } from './range.js';

const none = 0;
const many = -1;

/** Fewer sequences than this that are unique on both sides can be chance. */
const fewestPairs = 16;

/**
 * The parts of a range between its anchors: sequences of `width` lines that occur once on each side, in the longest order
 * that both sides share. No anchors, no parts. After Bram Cohen's patience diff, which has a width of 1.
 * Wider anchors are believed only if most of them are in the same order: those that unlike texts share by chance are not.
 */
export function partsBetweenAnchors(a: Side, b: Side, range: Range, width: number): Range[] {
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
    positions[place] = positions[place] === none ? start + index + 1 : many;
  });
  const only = (hash: number): number | undefined => {
    const position = positions[placeOf(hash)] as number;
    return position > none ? position - 1 : undefined;
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
