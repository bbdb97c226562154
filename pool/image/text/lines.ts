import { createRequire } from 'node:module';
import type { Bidi } from 'bidi-js';

let arabicForms: Map<string, string[]> | undefined;

/** The forms of each letter in the order in which Unicode lists them: isolated, final, initial, medial. */
function formsByLetter(): Map<string, string[]> {
  const found = new Map<string, string[]>();
  const add = (first: number, last: number) => {
    for (let codePoint = first; codePoint <= last; codePoint++) {
      const form = String.fromCodePoint(codePoint);
      const letter = form.normalize('NFKC');
      if (letter.length === 1 && letter !== form) found.set(letter, [...(found.get(letter) ?? []), form]);
    }
  };
  // Presentation Forms B before A: the isolated and final forms of a letter that is in both are in B.
  add(0xfe80, 0xfefc);
  add(0xfb50, 0xfbff);
  return found;
}

/** An Arabic letter as it looks joined to the one before it, after it or both; itself where there is no form. */
function joinedForm(letter: string, before: boolean, after: boolean): string {
  arabicForms ??= formsByLetter();
  return arabicForms.get(letter)?.[(before ? 1 : 0) + (after ? 2 : 0)] ?? letter;
}

const combiningMark = /\p{M}/u;
const joiningScript = /[\p{Script=Arabic}\p{Script=Syriac}\p{Script=Nko}]/u;
const letter = /\p{L}/u;
const hamza = '\u0621';

/** Letters that never join the one after them: Joining_Type R and U of ArabicShaping.txt (Unicode 16). */
const endsJoin =
  /[\u0621-\u0625\u0627\u0629\u062f-\u0632\u0648\u0671-\u0677\u0688-\u0699\u06c0\u06c3-\u06cb\u06cd\u06cf\u06d2\u06d3\u06d5\u06ee\u06ef\u0710\u0715-\u0719\u071e\u0728\u072a\u072c\u072f\u074d\u0759-\u075b\u076b\u076c\u0771\u0773\u0774\u0778\u0779]/;

/**
 * What parts joined letters at a line's end and start but keeps their shape: a zero width joiner, and a mark with a
 * direction, since a joiner at the edge has none and would be drawn apart.
 */
export const parted = { end: '\u200d\u200f', start: '\u200f\u200d' };

/** Whether the letters before and after a break at `index` join each other. */
export function joinsAt(text: string, index: number): boolean {
  if (index <= 0 || index >= text.length) return false;
  let before = index - 1;
  while (before > 0 && combiningMark.test(text[before] as string)) before--;
  const one = text[before] as string;
  const next = text[index] as string;
  const letters = [one, next].every((character) => joiningScript.test(character) && letter.test(character));
  return letters && !endsJoin.test(one) && next !== hamza;
}

/** A paragraph and the direction of each of its characters. */
export interface Paragraph {
  text: string;
  /** Embedding levels by UTF-16 unit, even from left to right, and of the whole. Undefined where all are even. */
  levels: Uint8Array | undefined;
  base: number;
}

/** Loads what few texts need, when they do: its tables take milliseconds. */
const load = createRequire(import.meta.url);
let bidi: Bidi | undefined;

/** Scripts that run from right to left, and the marks that change a direction. */
const turning =
  /[\u0590-\u08ff\u200f\u202a-\u202e\u2066-\u2069\ufb1d-\ufdff\ufe70-\ufefc\u{10800}-\u{10fff}\u{1e800}-\u{1efff}]/u;
/** bidi-js goes by UTF-16 units, and so knows nothing of these. */
const beyondUnits = /[\u{10800}-\u{10fff}\u{1e800}-\u{1efff}]/gu;
const twoHebrew = '\u05d0\u05d0';

/** Embeddings and overrides, which are as if they were not there once they have done their work (UAX #9, rule X9). */
const removedByBidi = /[\u202a-\u202e]/;
/** Joiners and their like go with the character before them, whatever became of theirs (the same rule). */
const following = /[\u00ad\u200b-\u200d\u2060-\u2064\ufeff]/;
/** Isolates and marks, which have a place among the runs. */
const directionMarks = /[\u061c\u200e\u200f\u2066-\u2069]/;
const directionMark = '\u200e';
const trailingSpaces = /[\s\u00ad\u200b-\u200d\u202a-\u202e\u2060-\u2069\ufeff]/;

/**
 * Resolves directions by UAX #9. The paragraph runs in the direction of its first strong letter, as with a browser's
 * `dir="auto"`; SVG by itself would put the closing "!" of a Hebrew line on the wrong side.
 */
export function paragraphOf(text: string): Paragraph {
  if (!turning.test(text)) return { text, levels: undefined, base: 0 };
  bidi ??= (load('bidi-js') as () => Bidi)();
  const { levels, paragraphs } = bidi.getEmbeddingLevels(text.replace(beyondUnits, twoHebrew), 'auto');
  return { text, levels, base: paragraphs[0]?.level ?? 0 };
}

const leftOverride = '\u202d';
const rightOverride = '\u202e';
const popped = '\u202c';

/**
 * A part of a paragraph, between what is added. Renderers resolve directions line by line, but digits, signs and open
 * isolates go by the lines before too: each run stands in overrides that leave nothing to resolve.
 */
export function lineOf(
  { text, levels, base }: Paragraph,
  start: number,
  end: number,
  { before = '', after = '', ending = '' } = {},
): string {
  const piece = text.slice(start, end);
  if (!levels) return before + piece + after + ending;
  let spaces = end;
  while (spaces > start && trailingSpaces.test(text[spaces - 1] as string)) spaces--;
  let line = '';
  let depth = 0;

  function add(characters: string, resolved: number): void {
    if (characters === '') return;
    // Two levels up, so that even the first stands in an override, which from level 0 leads to level 2.
    const wanted = resolved + 2;
    if (depth === 0) {
      line += leftOverride;
      depth = 2;
    }
    for (; depth > wanted; depth--) line += popped;
    for (; depth < wanted; depth++) line += depth % 2 === 0 ? rightOverride : leftOverride;
    line += characters;
  }

  let level = levels[start] ?? base;
  add(before, level);
  for (let i = start; i < end; i++) {
    const character = text[i] as string;
    if (removedByBidi.test(character)) continue;
    // Spaces that end a line go to its end (UAX #9, rule L1).
    if (!following.test(character)) level = i >= spaces ? base : (levels[i] as number);
    add(directionMarks.test(character) ? directionMark : character, level);
  }
  add(after, level);
  add(ending, base);
  return line;
}

/** Widths that lines are broken by, in ems. */
export interface Widths {
  /** Of a grapheme. */
  of(grapheme: string): number;
  /** What stands for what was left out. */
  ellipsis: string;
}

export interface Line {
  /** As `lineOf` writes it. */
  text: string;
  /** Ems, as a sum of its graphemes. */
  width: number;
}

type LineBreaker = new (text: string) => { nextBreak(): { position: number } | null };

const graphemes = new Intl.Segmenter('en', { granularity: 'grapheme' });
const softHyphen = '\u00ad';
const hyphen = '-';
const spaces = /[\s\u200b]/;

/** A paragraph, ready to be broken at any width: its places in UTF-16 units. */
export interface Breakable {
  paragraph: Paragraph;
  /** Where a line may end, after its spaces, by UAX #14; the last is the end. */
  opportunities: number[];
  /** Where graphemes end. */
  ends: number[];
  /** For each unit the sum of the widths before it; one more for the end. */
  sums: Float64Array;
}

export function breakable(paragraph: Paragraph, widths: Widths): Breakable {
  const { text } = paragraph;
  const opportunities: number[] = [];
  const breaker = new (load('linebreak') as LineBreaker)(text);
  for (let next = breaker.nextBreak(); next; next = breaker.nextBreak()) opportunities.push(next.position);
  const ends: number[] = [];
  const sums = new Float64Array(text.length + 1);
  for (const { segment, index } of graphemes.segment(text)) {
    const end = index + segment.length;
    const before = sums[index] as number;
    sums.fill(before, index + 1, end);
    const [joinsBefore, joinsAfter] = [joinsAt(text, index), joinsAt(text, end)];
    const isJoined = joinsBefore || joinsAfter;
    const shown = isJoined ? joinedForm(segment[0] as string, joinsBefore, joinsAfter) : segment;
    sums[end] = before + widths.of(shown);
    ends.push(end);
  }
  return { paragraph, opportunities, ends, sums };
}

/**
 * Breaks paragraphs into lines of at most `maxWidth` ems, at the opportunities of UAX #14, longer words between
 * graphemes. The last of more than `maxLines` ends in the ellipsis.
 */
export function breakLines(
  paragraphs: readonly Breakable[],
  maxWidth: number,
  maxLines: number,
  widths: Widths,
): Line[] {
  const lines: Line[] = [];
  for (const [index, paragraph] of paragraphs.entries()) {
    const { length } = paragraph.paragraph.text;
    let start = 0;
    do {
      const end = endOfLine(paragraph, start, maxWidth, widths);
      const isLast = lines.length === maxLines - 1;
      const left = end < length || index < paragraphs.length - 1;
      if (isLast && left) return [...lines, ellipsized(paragraph, start, maxWidth, widths)];
      lines.push(toLine(paragraph, start, end, widths));
      start = end;
    } while (start < length);
  }
  return lines;
}

function endOfLine(line: Breakable, start: number, maxWidth: number, widths: Widths): number {
  let end = start;
  for (const opportunity of line.opportunities) {
    if (opportunity <= start) continue;
    if (widthOfLine(line, start, opportunity, widths) > maxWidth) break;
    end = opportunity;
  }
  return end > start ? end : lastFitting(line, start, maxWidth, widths);
}

/** The end of the last grapheme that fits, and of the first in any case. */
function lastFitting(line: Breakable, start: number, maxWidth: number, widths: Widths): number {
  const [first = line.paragraph.text.length, ...others] = line.ends.filter((end) => end > start);
  let fitting = first;
  for (const end of others) {
    if (widthOf(line.sums, start, end) > maxWidth) break;
    if (widthOfLine(line, start, end, widths) <= maxWidth) fitting = end;
  }
  return fitting;
}

/** Without the spaces at its end, with the hyphen that it may end in. */
function widthOfLine({ paragraph, sums }: Breakable, start: number, end: number, widths: Widths): number {
  const { text } = paragraph;
  const ending = endsInHyphen(text, start, end) ? widths.of(hyphen) : 0;
  return widthOf(sums, start, trimmedEnd(text, start, end)) + ending;
}

function endsInHyphen(text: string, start: number, end: number): boolean {
  return end < text.length && end - start > 1 && text[end - 1] === softHyphen;
}

function toLine(line: Breakable, start: number, end: number, widths: Widths): Line {
  const { paragraph } = line;
  const ending = endsInHyphen(paragraph.text, start, end) ? hyphen : '';
  const text = joinedLine(paragraph, start, trimmedEnd(paragraph.text, start, end), ending);
  return { text, width: widthOfLine(line, start, end, widths) };
}

/** As many graphemes as leave maxWidth for the ellipsis, and none of them a space before it. */
function ellipsized(line: Breakable, start: number, maxWidth: number, widths: Widths): Line {
  const { paragraph, ends, sums } = line;
  const { ellipsis } = widths;
  const ellipsisWidth = [...ellipsis].reduce((sum, character) => sum + widths.of(character), 0);
  const fitting = ends.filter((end) => end > start && widthOf(sums, start, end) + ellipsisWidth <= maxWidth);
  const end = trimmedEnd(paragraph.text, start, fitting.at(-1) ?? start);
  const text = joinedLine(paragraph, start, end, ellipsis);
  return { text, width: widthOf(sums, start, end) + ellipsisWidth };
}

function joinedLine(paragraph: Paragraph, start: number, end: number, ending: string): string {
  const before = joinsAt(paragraph.text, start) ? parted.start : '';
  const after = joinsAt(paragraph.text, end) ? parted.end : '';
  return lineOf(paragraph, start, end, { before, after, ending });
}

function widthOf(sums: Float64Array, start: number, end: number): number {
  return (sums[end] as number) - (sums[start] as number);
}

/** Spaces at a line's end have no width. */
function trimmedEnd(text: string, start: number, end: number): number {
  let trimmed = end;
  while (trimmed > start && spaces.test(text[trimmed - 1] as string)) trimmed--;
  return trimmed;
}
