import { createRequire } from 'node:module';
import type { Bidi } from 'bidi-js';

/** A paragraph and the direction of each of its characters. */
export interface Paragraph {
  text: string;
  /** Embedding levels by UTF-16 unit, even from left to right, and that of the whole. Undefined where all runs from left to right. */
  levels: Uint8Array | undefined;
  base: number;
}

let bidi: Bidi | undefined;

/** Loaded when there is a text that needs it, for its tables take milliseconds. */
function loadBidi(): Bidi {
  bidi ??= (createRequire(import.meta.url)('bidi-js') as () => Bidi)();
  return bidi;
}

/** Scripts that run from right to left, and the marks that change a direction. */
const turning =
  /[\u0590-\u08ff\u200f\u202a-\u202e\u2066-\u2069\ufb1d-\ufdff\ufe70-\ufefc\u{10800}-\u{10fff}\u{1e800}-\u{1efff}]/u;
/** bidi-js goes by UTF-16 units, and so knows nothing of these. */
const beyondUnits = /[\u{10800}-\u{10fff}\u{1e800}-\u{1efff}]/gu;
const twoHebrew = '\u05d0\u05d0';

/** Embeddings and overrides, which are as if they were not there once they have done their work (UAX #9, rule X9). */
const removed = /[\u202a-\u202e]/;
/** Joiners and their like go with the character before them, whatever became of theirs (the same rule). */
const following = /[\u00ad\u200b-\u200d\u2060-\u2064\ufeff]/;
/** Isolates and marks, which have a place among the runs. */
const marks = /[\u061c\u200e\u200f\u2066-\u2069]/;
const mark = '\u200e';
const trailing = /[\s\u00ad\u200b-\u200d\u202a-\u202e\u2060-\u2069\ufeff]/;

/**
 * Resolves the directions of a paragraph by the Unicode Bidirectional Algorithm (UAX #9). It runs as a whole in the direction
 * of its first strong letter, as a browser's `dir="auto"` does; SVG by itself would put the closing "!" of a Hebrew line on the
 * wrong side.
 */
export function paragraphOf(text: string): Paragraph {
  if (!turning.test(text)) return { text, levels: undefined, base: 0 };
  const { levels, paragraphs } = loadBidi().getEmbeddingLevels(text.replace(beyondUnits, twoHebrew), 'auto');
  return { text, levels, base: paragraphs[0]?.level ?? 0 };
}

const leftOverride = '\u202d';
const rightOverride = '\u202e';
const popped = '\u202c';

/**
 * The characters from `start` to `end` of a paragraph, and what is added before and after them, for a renderer that resolves
 * directions line by line: a line's digits, signs and open isolates go by the lines before it too. Each run therefore stands
 * in overrides that leave nothing to resolve.
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
  while (spaces > start && trailing.test(text[spaces - 1] as string)) spaces--;
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
    if (removed.test(character)) continue;
    // Spaces that end a line go to its end (UAX #9, rule L1).
    if (!following.test(character)) level = i >= spaces ? base : (levels[i] as number);
    add(marks.test(character) ? mark : character, level);
  }
  add(after, level);
  add(ending, base);
  return line;
}
