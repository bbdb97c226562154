import { lineOf, type Paragraph, paragraphOf } from './bidi.js';
import { type Breakable, breakable, breakLines, type Line, type Widths } from './break-lines.js';
import type { TextStyle } from './style.js';
import { lineHeight, unscaledSize } from './svg.js';

/** The ink of unscaled text, in pixels from where its first line begins. */
export interface Box {
  x: number;
  y: number;
  width: number;
  height: number;
}

/** Lines, and how large they are drawn. */
export interface Layout {
  lines: readonly string[];
  box: Box;
  scale: number;
  /** Pixels. */
  outline: number;
}

/** What a layout is made with. */
export interface Measures {
  widths: Widths;
  /** The ink of lines; undefined where there is none. Takes milliseconds. */
  measure(lines: readonly string[]): Box | undefined;
}

/** What begins a line in a text. */
export const lineBreak = /\r?\n/g;

/** Measurements for one text at most: each corrects the widths that the one before was broken by. */
const mostMeasurements = 3;
/** Steps in which the size is sought at which lines are few enough: to a thousandth. */
const bisections = 10;

/** What of a text is the same for every picture. */
export interface PreparedText {
  paragraphs: readonly Paragraph[];
  /** Each as one line. */
  lines: readonly string[];
}

/** A line break in a text ends a paragraph. */
export function prepareText(text: string): PreparedText {
  const paragraphs = text.split(lineBreak).map(paragraphOf);
  return { paragraphs, lines: paragraphs.map((whole) => lineOf(whole, 0, whole.text.length)) };
}

/**
 * Breaks text into lines and shrinks them, their outline with them, until the ink fits the room. With `wrap` the size is kept as
 * long as lines no wider than the room are few enough to fit its height. Undefined where there is no ink.
 */
export function layOut(
  { paragraphs, lines }: PreparedText,
  style: TextStyle,
  measures: Measures,
): Layout | undefined {
  return style.wrap
    ? wrapped(paragraphs, style, style.wrap.maxLines, measures)
    : fitted(lines, style, measures);
}

function fitted(lines: readonly string[], style: TextStyle, { measure }: Measures): Layout | undefined {
  const box = measure(lines);
  if (!box) return undefined;
  const outline = style.outline ?? 0;
  const scale = style.fontSize / unscaledSize;
  const shrink = Math.min(
    1,
    style.maxWidth / (box.width * scale + 2 * outline),
    style.maxHeight / (box.height * scale + 2 * outline),
  );
  return { lines, box, scale: scale * shrink, outline: outline * shrink };
}

/**
 * The widths that lines are broken by are sums of single letters': kerned and ligatures take less. So lines are measured,
 * and where they are too wide, or much narrower than thought, broken again by the widths as they turned out.
 */
function wrapped(
  paragraphs: readonly Paragraph[],
  style: TextStyle,
  maxLines: number,
  { widths, measure }: Measures,
): Layout | undefined {
  const broken = paragraphs.map((paragraph) => breakable(paragraph, widths));
  let best: Layout | undefined;
  let known = { widthFactor: 1, oneLine: 1 };
  for (let i = 0; i < mostMeasurements; i++) {
    const lines = shrunkLines(broken, style, maxLines, widths, known);
    const layout = fitted(
      lines.map((line) => line.text),
      style,
      { widths, measure },
    );
    if (!layout) return best;
    if (!best || layout.scale >= best.scale) best = layout;
    const { box } = layout;
    const thought = Math.max(...lines.map((line) => line.width));
    const measured = {
      widthFactor: thought > 0 ? box.width / unscaledSize / thought : 1,
      oneLine: Math.max(0, box.height - (lines.length - 1) * lineHeight) / unscaledSize,
    };
    const asThought = measured.widthFactor > known.widthFactor * 0.97;
    if (asThought && layout.scale * unscaledSize > style.fontSize * 0.999) return best;
    known = measured;
  }
  return best;
}

/** The lines at the largest size, no larger than asked for, at which their estimated ink fits the room. */
function shrunkLines(
  paragraphs: readonly Breakable[],
  { fontSize, outline = 0, maxWidth, maxHeight }: TextStyle,
  maxLines: number,
  widths: Widths,
  known: { widthFactor: number; oneLine: number },
): Line[] {
  function at(shrink: number): { lines: Line[]; fits: boolean } {
    const size = fontSize * shrink;
    const edges = 2 * outline * shrink;
    const lines = breakLines(paragraphs, (maxWidth - edges) / size / known.widthFactor, maxLines, widths);
    const height = size * (known.oneLine + ((lines.length - 1) * lineHeight) / unscaledSize) + edges;
    return { lines, fits: height <= maxHeight };
  }

  let found = at(1);
  if (found.fits) return found.lines;
  let least = 0;
  let most = 1;
  for (let i = 0; i < bisections; i++) {
    const middle = (least + most) / 2;
    const tried = at(middle);
    if (tried.fits) least = middle;
    else most = middle;
    if (tried.fits || i === bisections - 1) found = tried;
  }
  return found.lines;
}
