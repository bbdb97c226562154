import { createRequire } from 'node:module';
import { joinedForm } from './arabic-forms.js';
import { lineOf, type Paragraph } from './bidi.js';
import { joinsAt, parted } from './joining.js';

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

let lineBreaker: LineBreaker | undefined;

/** Loaded when a text is to be wrapped, for its tables take milliseconds. */
function loadLineBreaker(): LineBreaker {
  lineBreaker ??= createRequire(import.meta.url)('linebreak') as LineBreaker;
  return lineBreaker;
}

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
  const breaker = new (loadLineBreaker())(text);
  for (let next = breaker.nextBreak(); next; next = breaker.nextBreak()) opportunities.push(next.position);
  const ends: number[] = [];
  const sums = new Float64Array(text.length + 1);
  for (const { segment, index } of graphemes.segment(text)) {
    const end = index + segment.length;
    const before = sums[index] as number;
    sums.fill(before, index + 1, end);
    const [joinsBefore, joinsAfter] = [joinsAt(text, index), joinsAt(text, end)];
    const shown =
      joinsBefore || joinsAfter ? joinedForm(segment[0] as string, joinsBefore, joinsAfter) : segment;
    sums[end] = before + widths.of(shown);
    ends.push(end);
  }
  return { paragraph, opportunities, ends, sums };
}

/**
 * Breaks paragraphs into lines no wider than `room`, in ems: greedily, at the opportunities of UAX #14, and a word that is
 * too wide for a line of its own between graphemes. Where there would be more than `maxLines`, the last of them ends in the
 * ellipsis.
 */
export function breakLines(
  paragraphs: readonly Breakable[],
  room: number,
  maxLines: number,
  widths: Widths,
): Line[] {
  const lines: Line[] = [];
  for (const [index, paragraph] of paragraphs.entries()) {
    const { length } = paragraph.paragraph.text;
    let start = 0;
    do {
      const end = endOfLine(paragraph, start, room, widths);
      const isLast = lines.length === maxLines - 1;
      const left = end < length || index < paragraphs.length - 1;
      if (isLast && left) return [...lines, ellipsized(paragraph, start, room, widths)];
      lines.push(toLine(paragraph, start, end, widths));
      start = end;
    } while (start < length);
  }
  return lines;
}

function endOfLine(line: Breakable, start: number, room: number, widths: Widths): number {
  let end = start;
  for (const opportunity of line.opportunities) {
    if (opportunity <= start) continue;
    if (widthOfLine(line, start, opportunity, widths) > room) break;
    end = opportunity;
  }
  return end > start ? end : lastFitting(line, start, room, widths);
}

/** The end of the last grapheme that fits, and of the first in any case. */
function lastFitting(line: Breakable, start: number, room: number, widths: Widths): number {
  const [first = line.paragraph.text.length, ...others] = line.ends.filter((end) => end > start);
  let fitting = first;
  for (const end of others) {
    if (widthOf(line.sums, start, end) > room) break;
    if (widthOfLine(line, start, end, widths) <= room) fitting = end;
  }
  return fitting;
}

/** Without the spaces at its end, with the hyphen that it may end in. */
function widthOfLine(
  { paragraph: { text }, sums }: Breakable,
  start: number,
  end: number,
  widths: Widths,
): number {
  const ending = endsInHyphen(text, start, end) ? widths.of(hyphen) : 0;
  return widthOf(sums, start, trimmedEnd(text, start, end)) + ending;
}

function endsInHyphen(text: string, start: number, end: number): boolean {
  return end < text.length && end - start > 1 && text[end - 1] === softHyphen;
}

function toLine(line: Breakable, start: number, end: number, widths: Widths): Line {
  const { paragraph } = line;
  const inked = trimmedEnd(paragraph.text, start, end);
  const ending = endsInHyphen(paragraph.text, start, end) ? hyphen : '';
  const text = lineOf(paragraph, start, inked, { ...joinersOf(paragraph.text, start, inked), ending });
  return { text, width: widthOfLine(line, start, end, widths) };
}

/** As many graphemes as leave room for the ellipsis, and none of them a space before it. */
function ellipsized({ paragraph, ends, sums }: Breakable, start: number, room: number, widths: Widths): Line {
  const { text } = paragraph;
  const ellipsisWidth = [...widths.ellipsis].reduce((sum, character) => sum + widths.of(character), 0);
  const fitting = ends.filter((end) => end > start && widthOf(sums, start, end) + ellipsisWidth <= room);
  const end = trimmedEnd(text, start, fitting.at(-1) ?? start);
  const joins = joinersOf(text, start, end);
  return {
    text: lineOf(paragraph, start, end, { ...joins, ending: widths.ellipsis }),
    width: widthOf(sums, start, end) + ellipsisWidth,
  };
}

function joinersOf(text: string, start: number, end: number) {
  return { before: joinsAt(text, start) ? parted.start : '', after: joinsAt(text, end) ? parted.end : '' };
}

function widthOf(sums: Float64Array, start: number, end: number): number {
  return (sums[end] as number) - (sums[start] as number);
}

/** Spaces at a line's end take no room. */
function trimmedEnd(text: string, start: number, end: number): number {
  let trimmed = end;
  while (trimmed > start && spaces.test(text[trimmed - 1] as string)) trimmed--;
  return trimmed;
}
