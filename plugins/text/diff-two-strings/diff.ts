import { markDifferences } from './search.js';

interface DiffOptions {
  /** Unchanged lines around a change, from 0. */
  context: number;
  /** A complete patch with file headers, every no-newline marker and a final newline, in place of bare hunks. */
  patch: boolean;
}

/**
 * The unified diff from `a` to `b`, `''` for equal texts. Lines end at `\n` only. Without `patch`, lines compare by
 * their content where neither text ends in a newline, so that `one` → `one\ntwo` is one added line.
 */
export function diffTexts(a: string, b: string, { context, patch }: DiffOptions): string {
  if (a === b) return '';
  const byContent = !patch && !a.endsWith('\n') && !b.endsWith('\n');
  const sides = { a: splitLines(byContent ? terminate(a) : a), b: splitLines(byContent ? terminate(b) : b) };
  const { left, right, distinct } = numberLines(sides.a, sides.b);
  const hunks = formatHunks(sides, findChanges(left, right, distinct), context);
  return patch ? `--- a/text\n+++ b/text\n${hunks}` : hunks.slice(0, -1);
}

function terminate(text: string): string {
  return text === '' ? '' : `${text}\n`;
}

/** Characters of both texts, and lines of one times lines of the other, up to which a diff stays under a millisecond. */
const mostCharacters = 8_000;
const mostPairs = 10_000;

/** Whether the diff of two texts is work for the main thread. Characters alone are no measure: they can be as many lines. */
export function isShort({ a, b }: { a: string; b: string }): boolean {
  return a.length + b.length <= mostCharacters && countLines(a) * countLines(b) <= mostPairs;
}

function countLines(text: string): number {
  let count = 1;
  for (let at = text.indexOf('\n'); at !== -1; at = text.indexOf('\n', at + 1)) count++;
  return count;
}

/** A text and where its lines are. Each line has the newline that ends it; only the last can be without one. */
interface Lines {
  text: string;
  /** Line `n`, from 0, goes from `starts[n]` up to `starts[n + 1]`; the last entry is the length of the text. */
  starts: number[];
  /** A hash of each line, of 32 bits: equal lines have equal ones. */
  hashes: number[];
  /** 0 for the empty text. */
  count: number;
}

const newline = 10;

/** Secret to the process: a sender that knew them could make thousands of lines collide. */
const [seed = 0, random = 0] = crypto.getRandomValues(new Int32Array(2));
const multiplier = random | 1;

/**
 * Lines end at `\n` only. They are not cut out here: a megabyte can hold a million of them, and the strings, with a Map to find equal
 * ones, cost several times as much as the search for the differences of two texts that are nearly alike.
 */
export function splitLines(text: string): Lines {
  const starts = [0];
  const hashes: number[] = [];
  let hash = seed;
  for (let at = 0; at < text.length; at++) {
    const unit = text.charCodeAt(at);
    hash = Math.imul(hash ^ unit, multiplier);
    hash ^= hash >>> 15;
    if (unit !== newline && at + 1 < text.length) continue;
    starts.push(at + 1);
    hashes.push(hash);
    hash = seed;
  }
  return { text, starts, hashes, count: hashes.length };
}

/** Whether two lines, of one text or of two, are the same. */
function sameLine(a: Lines, aLine: number, b: Lines, bLine: number): boolean {
  if (a.hashes[aLine] !== b.hashes[bLine]) return false;
  const start = a.starts[aLine] as number;
  const length = (a.starts[aLine + 1] as number) - start;
  const other = b.starts[bLine] as number;
  if (length !== (b.starts[bLine + 1] as number) - other) return false;
  for (let at = 0; at < length; at++) {
    if (a.text.charCodeAt(start + at) !== b.text.charCodeAt(other + at)) return false;
  }
  return true;
}

/**
 * Two texts as numbers, equal lines as equal numbers from 0 up to `distinct`, in the order in which they first appear: a table
 * with open addressing, at most half full.
 */
export function numberLines(a: Lines, b: Lines) {
  const bits = 1 + Math.ceil(Math.log2(a.count + b.count + 1));
  /** One more than the number in a slot, 0 where it is free. */
  const table = new Int32Array(2 ** bits);
  /** By number: the line that had it first, in `a` up to `inA` numbers and in `b` from there on. */
  const firsts: number[] = [];
  let inA = Number.POSITIVE_INFINITY;

  const numbersOf = (lines: Lines): Int32Array => {
    const result = new Int32Array(lines.count);
    for (let line = 0; line < lines.count; line++) {
      const hash = lines.hashes[line] as number;
      let slot = (hash ^ (hash >>> 16)) & (table.length - 1);
      for (; table[slot] !== 0; slot = (slot + 1) & (table.length - 1)) {
        const number = (table[slot] as number) - 1;
        if (sameLine(number < inA ? a : b, firsts[number] as number, lines, line)) break;
      }
      if (table[slot] === 0) table[slot] = firsts.push(line);
      result[line] = (table[slot] as number) - 1;
    }
    return result;
  };

  const left = numbersOf(a);
  inA = firsts.length;
  const right = numbersOf(b);
  return { left, right, distinct: firsts.length };
}

/** Lines `aStart` up to `aEnd` of the old text are replaced by `bStart` up to `bEnd` of the new one; from 0, ends excluded. */
interface Change {
  aStart: number;
  aEnd: number;
  bStart: number;
  bEnd: number;
}

/** Lines that a change moves at most; without it many changes in a text of one repeated line could each cross all of it. */
const slideReach = 100;

/**
 * The same number of changed lines in fewer, better placed changes. Lines that are only added or only removed can be
 * moved along where a text repeats itself: they join the change before or after them if they reach it, else they go
 * down as far as they can, where GNU diff puts them too and where a block most often begins at its own first line.
 * `left` and `right` are the numbered lines of the texts. Own code because the package `diff` leaves a change where
 * its search came upon it.
 */
function slideChanges(left: Int32Array, right: Int32Array, changes: readonly Change[]): Change[] {
  const up: Change[] = [];
  for (const change of changes) {
    const previous = up.at(-1);
    const moved = slideChange(left, right, change, -1, previous?.aEnd ?? 0);
    if (previous && previous.aEnd === moved.aStart) up[up.length - 1] = joinChanges(previous, moved);
    else up.push(moved);
  }
  const down: Change[] = [];
  for (const change of up.reverse()) {
    const next = down.at(-1);
    const moved = slideChange(left, right, change, 1, next?.aStart ?? left.length);
    if (next && next.aStart === moved.aEnd) down[down.length - 1] = joinChanges(moved, next);
    else down.push(moved);
  }
  return down.reverse();
}

/** The change moved up (-1) or down (1) as far as the text repeats, at most to line `limit` of the old text. */
function slideChange(
  left: Int32Array,
  right: Int32Array,
  change: Change,
  step: -1 | 1,
  limit: number,
): Change {
  const adds = change.aStart === change.aEnd;
  if (!adds && change.bStart < change.bEnd) return change;
  const lines = adds ? right : left;
  const start = adds ? change.bStart : change.aStart;
  const end = adds ? change.bEnd : change.aEnd;
  const edge = step === 1 ? 0 : -1;
  const room = Math.min(slideReach, step === 1 ? limit - change.aEnd : change.aStart - limit);
  let by = 0;
  while (Math.abs(by) < room && lines[start + by + edge] === lines[end + by + edge]) by += step;
  const { aStart, aEnd, bStart, bEnd } = change;
  return { aStart: aStart + by, aEnd: aEnd + by, bStart: bStart + by, bEnd: bEnd + by };
}

function joinChanges(first: Change, second: Change): Change {
  return { aStart: first.aStart, aEnd: second.aEnd, bStart: first.bStart, bEnd: second.bEnd };
}

/**
 * The changes that turn one numbered text into another, in order, with at least one common line between any two.
 * A line that the other side has nowhere is a change whatever the search finds, so it is left out of the search;
 * this takes nothing from the shortness of the result and makes unlike texts cheap.
 */
function findChanges(left: Int32Array, right: Int32Array, distinct: number): Change[] {
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
  for (let at = 0; at < keptLeft.length; at++) removed[keptLeft[at] as number] = goneLeft[at] as number;
  for (let at = 0; at < keptRight.length; at++) added[keptRight[at] as number] = goneRight[at] as number;
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

interface Sides {
  a: Lines;
  b: Lines;
}

/**
 * Unified hunks in the form of GNU diff, every line of them ended by a newline. More than twice `context` unchanged
 * lines between two changes part them into two hunks; a line that ends its text without a newline is followed by
 * the marker for that. Own code because the package `diff` makes hunks of its own search only.
 */
function formatHunks(sides: Sides, changes: Change[], context: number): string {
  const parts: string[] = [];
  for (const group of groupChanges(changes, context)) formatHunk(parts, sides, group, context);
  return parts.join('');
}

function groupChanges(changes: Change[], context: number): Change[][] {
  const groups: Change[][] = [];
  let end = Number.NEGATIVE_INFINITY;
  for (const change of changes) {
    if (change.aStart - end > 2 * context) groups.push([]);
    groups.at(-1)?.push(change);
    end = change.aEnd;
  }
  return groups;
}

function formatHunk(parts: string[], { a, b }: Sides, changes: Change[], context: number): void {
  const first = changes[0] as Change;
  const last = changes.at(-1) as Change;
  const before = Math.min(context, first.aStart);
  const after = Math.min(context, a.count - last.aEnd);
  const oldRange = formatRange(first.aStart - before, last.aEnd + after);
  const newRange = formatRange(first.bStart - before, last.bEnd + after);
  parts.push(`@@ -${oldRange} +${newRange} @@\n`);
  let at = first.aStart - before;
  for (const change of changes) {
    pushLines(parts, ' ', a, at, change.aStart);
    pushLines(parts, '-', a, change.aStart, change.aEnd);
    pushLines(parts, '+', b, change.bStart, change.bEnd);
    at = change.aEnd;
  }
  pushLines(parts, ' ', a, at, at + after);
}

/** Counted from 1, a count of 1 left out; an empty range names the line before it, 0 at the start of the text. */
function formatRange(start: number, end: number): string {
  const count = end - start;
  if (count === 0) return `${start},0`;
  return count === 1 ? `${start + 1}` : `${start + 1},${count}`;
}

function pushLines(parts: string[], sign: string, { text, starts }: Lines, start: number, end: number): void {
  if (start === end) return;
  const lines = text.slice(starts[start], starts[end]);
  const ended = lines.endsWith('\n');
  const inner = ended ? lines.slice(0, -1) : lines;
  parts.push(sign, inner.replaceAll('\n', `\n${sign}`), ended ? '\n' : '\n\\ No newline at end of file\n');
}
