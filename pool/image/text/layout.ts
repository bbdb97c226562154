import {
  type Breakable,
  breakable,
  breakLines,
  type Line,
  lineOf,
  type Paragraph,
  paragraphOf,
  type Widths,
} from './lines.js';

/** How text is drawn, and the box that it must fit. */
export interface TextStyle {
  /** Pixels. */
  fontSize: number;
  /** `#rrggbb`. */
  color: string;
  /** Pixels around the letters, black or white, whichever stands out from the colour; shrunk as the text is. Default 0. */
  outline?: number | undefined;
  /** The side that lines are flush with. Default `left`. */
  align?: Align | undefined;
  /** The box, in whole pixels, at least one; the text is shrunk to it. */
  maxWidth: number;
  maxHeight: number;
  /** Breaks the text into lines no wider than the box, at most so many; without it there is one line. */
  wrap?: { maxLines: number } | undefined;
}

export type Align = 'left' | 'center' | 'right';

/** Where lines of text stand on a canvas: everything in pixels. */
export interface TextPlace {
  fontFamily: string;
  /** `#rrggbb`. */
  color: string;
  /** Around the letters, under them, half of its width outside; none at width 0. */
  stroke: { color: string; width: number };
  align: Align;
  /** The canvas. */
  width: number;
  height: number;
  /** The point of the canvas that the first line begins at, on its baseline. */
  x: number;
  y: number;
  scale: number;
}

/** Font size of the unscaled text, in pixels. */
const unscaledSize = 100;
/** From line to line of the unscaled text, in pixels. */
const lineHeight = 120;

const anchors: Record<Align, string> = { left: 'start', center: 'middle', right: 'end' };

/**
 * An SVG with lines of text, drawn exactly as given: nothing in them is markup and every space counts. All strokes lie under
 * all letters, so that no letter's outline covers its neighbour.
 */
export function textSvg(lines: readonly string[], layout: TextPlace): string {
  const { fontFamily, color, stroke, align, width, height, x, y, scale } = layout;
  const anchor = align === 'left' ? '' : ` text-anchor="${anchors[align]}"`;
  const texts = lines.map((line, index) => {
    const down = index === 0 ? '' : ` y="${index * lineHeight}"`;
    return line === '' ? '' : `<text${down} xml:space="preserve">${escapeXml(line)}</text>`;
  });
  const drawn = texts.join('');
  const outlined = `<g stroke="${stroke.color}" stroke-width="${stroke.width / scale}" stroke-linejoin="round">${drawn}</g>`;
  return (
    `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}">` +
    `<g transform="translate(${x} ${y}) scale(${scale})"${anchor} ` +
    `font-family="${escapeXml(fontFamily)}" font-size="${unscaledSize}" fill="${color}">` +
    `${stroke.width > 0 ? outlined : ''}${drawn}</g></svg>`
  );
}

function escapeXml(text: string): string {
  return text.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);
}

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
interface Measures {
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
 * Breaks text into lines and shrinks them, their outline with them, until the ink fits the box. With `wrap` the size stays as
 * long as lines no wider than the box are few enough to fit its height. Undefined where there is no ink.
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

/** The lines at the largest size, no larger than asked for, at which their estimated ink fits the box. */
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
