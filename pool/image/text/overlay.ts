import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { initWasm, Resvg, type ResvgRenderOptions } from '@resvg/resvg-wasm';
import { LRUCache } from 'lru-cache';
import { once } from '../../concurrency.js';
import { codedError } from '../../errors.js';
import type { Size } from '../engine.js';
import type { Overlay } from '../raster.js';
import type { FontSet } from './fonts.js';
import { inkColors, standsOutFrom } from './ink.js';
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
  /** Pixels around the letters, black or white, whichever stands out from the colour; shrunk with it. Default 0. */
  outline?: number | undefined;
  /** The side that lines are flush with. Default `left`. */
  align?: Align | undefined;
  /** The box, in whole pixels, at least one; the text is shrunk to it. */
  maxWidth: number;
  maxHeight: number;
  /** Breaks the text into lines no wider than the box, at most so many; without it there is one line. */
  wrap?: { maxLines: number } | undefined;
}

type Align = 'left' | 'center' | 'right';

/** A rectangle in pixels: the ink of unscaled text, from where its first line begins. */
interface Box extends Size {
  x: number;
  y: number;
}

/** Where lines of text stand: on a canvas of this size, the first beginning at `x` on its baseline `y`. */
interface TextPlace extends Box {
  fontFamily: string;
  color: string;
  /** Around the letters, under them, half of its width outside; none at width 0. */
  stroke: { color: string; width: number };
  align: Align;
  scale: number;
}

/** Font size of the unscaled text, in pixels. */
const unscaledSize = 100;
/** From line to line of the unscaled text, in pixels. */
const lineHeight = 120;

const anchors: Record<Align, string> = { left: 'start', center: 'middle', right: 'end' };

/** An SVG with lines of text, none of it markup, every space counted. All strokes lie under all letters. */
function textSvg(lines: readonly string[], layout: TextPlace): string {
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

/** Lines, and how large they are drawn. */
interface Layout {
  lines: readonly string[];
  box: Box;
  scale: number;
  /** Pixels. */
  outline: number;
}

/** What a layout is made with. */
interface Measures {
  widths: Widths;
  /** The ink of lines, of no size where there is none. Takes milliseconds. */
  measure(lines: readonly string[]): Box;
}

/** What begins a line in a text. */
const lineBreak = /\r?\n/g;

/** Measurements for one text at most: each corrects the widths that the one before was broken by. */
const mostMeasurements = 3;
/** Steps in which the size is sought at which lines are few enough: to a thousandth. */
const bisections = 10;

/** What of a text is the same for every picture: its paragraphs, ended by line breaks, and each as one line. */
export function prepareText(text: string) {
  const paragraphs = text.split(lineBreak).map(paragraphOf);
  return { paragraphs, lines: paragraphs.map((whole) => lineOf(whole, 0, whole.text.length)) };
}

/**
 * Breaks text into lines and shrinks them, with their outline, until the ink fits the box; with `wrap` only where they
 * are too many for its height. Undefined where there is no ink.
 */
export function layOut(
  { paragraphs, lines }: ReturnType<typeof prepareText>,
  style: TextStyle,
  measures: Measures,
): Layout | undefined {
  const { wrap } = style;
  return wrap ? wrapped(paragraphs, style, wrap.maxLines, measures) : fitted(lines, style, measures);
}

function fitted(lines: readonly string[], style: TextStyle, { measure }: Measures): Layout | undefined {
  const box = measure(lines);
  if (box.width === 0) return undefined;
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
 * Lines are broken by sums of single letters' widths, which kerning and ligatures make less: measured, they are broken
 * again where they are too wide or much narrower than thought.
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
    const texts = lines.map((line) => line.text);
    const layout = fitted(texts, style, { widths, measure });
    if (!layout) return best;
    if (!best || layout.scale >= best.scale) best = layout;
    const { box, scale } = layout;
    const thought = Math.max(...lines.map((line) => line.width));
    const widthFactor = thought > 0 ? box.width / unscaledSize / thought : 1;
    const asThought = widthFactor > known.widthFactor * 0.97;
    if (asThought && scale * unscaledSize > style.fontSize * 0.999) return best;
    const oneLine = Math.max(0, box.height - (lines.length - 1) * lineHeight) / unscaledSize;
    known = { widthFactor, oneLine };
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

export type TextRenderer = Awaited<ReturnType<typeof createTextRenderer>>;

/** The renderer, loaded when it is first asked for. */
export type LoadText = () => Promise<TextRenderer>;

const noStroke = { color: '#000000', width: 0 };
const unscaled = { color: '#000000', stroke: noStroke, width: 1, height: 1, x: 0, y: 0, scale: 1 };
const cacheBytes = 16 * 1024 * 1024;

/** The wasm module must be started once a thread and no more. */
const startResvg = once(async () => {
  const path = createRequire(import.meta.url).resolve('@resvg/resvg-wasm/index_bg.wasm');
  await initWasm(new Uint8Array(await readFile(path)));
});

/**
 * The one renderer of watermark text, so that engines draw the same pixels. Its results are cached, 16 MB at most: a
 * tenant's watermark is mostly the same one.
 */
export async function createTextRenderer(fonts: FontSet) {
  await startResvg();
  const texts = new LRUCache({ max: 500, memoMethod: prepare });
  const boxes = new LRUCache<string, Box>({ max: 500 });
  const wrappings = new LRUCache<string, Layout>({ max: 500 });
  const overlays = new LRUCache<string, Overlay>({
    maxSize: cacheBytes,
    maxEntrySize: cacheBytes / 4,
    sizeCalculation: (overlay) => overlay.data.length + 1024,
  });
  const ellipsis = fonts.missing('…').length === 0 ? '…' : '...';
  const widths = { of: fonts.advance, ellipsis };

  /** Throws the same as `invalidInput` of the plugins' interface, which this folder does not import. */
  function prepare(text: string) {
    const missing = fonts.missing(text.replaceAll(lineBreak, ' '));
    if (missing.length === 0) return prepareText(text);
    const problem = `has a character that no loaded font can draw: ${missing.join(' ')}`;
    throw codedError('invalid_input', `text ${problem}`, { details: [{ field: 'text', problem }] });
  }

  function open(lines: readonly string[], place: Omit<TextPlace, 'fontFamily'>) {
    const { buffers, family } = fonts.chosenFor(lines.join(' '));
    const options: ResvgRenderOptions = { font: { fontBuffers: buffers, defaultFontFamily: family } };
    return new Resvg(textSvg(lines, { ...place, fontFamily: family }), options);
  }

  /** Outlines scale evenly (nothing is hinted), so one measurement holds for every size. */
  function measure(lines: readonly string[], align: Align): Box {
    const key = `${align} ${lines.join('\n')}`;
    const known = boxes.get(key);
    if (known) return known;
    const resvg = open(lines, { ...unscaled, align });
    const { x = 0, y = 0, width = 0, height = 0 } = resvg.getBBox() ?? {};
    resvg.free();
    const box = width > 0 && height > 0 ? { x, y, width, height } : { x, y, width: 0, height: 0 };
    boxes.set(key, box);
    return box;
  }

  function layOutOnce(text: string, style: TextStyle): Layout | undefined {
    const { fontSize, outline = 0, maxWidth, maxHeight, wrap } = style;
    const measures = { widths, measure: (lines: readonly string[]) => measure(lines, alignOf(lines, style)) };
    const key = wrap && [fontSize, outline, style.align, maxWidth, maxHeight, wrap.maxLines, text].join(' ');
    const layout = (key && wrappings.get(key)) || layOut(texts.memo(text), style, measures);
    if (key) wrappings.set(key, layout);
    return layout;
  }

  function draw({ lines, box, scale, outline }: Layout, style: TextStyle): Overlay {
    const width = Math.min(Math.ceil(box.width * scale + 2 * outline), style.maxWidth);
    const height = Math.min(Math.ceil(box.height * scale + 2 * outline), style.maxHeight);
    const resvg = open(lines, {
      color: style.color,
      stroke: { color: inkColors[standsOutFrom(style.color)], width: 2 * outline },
      align: alignOf(lines, style),
      width,
      height,
      x: outline - box.x * scale,
      y: outline - box.y * scale,
      scale,
    });
    const image = resvg.render();
    const overlay = { data: image.pixels, width, height };
    image.free();
    resvg.free();
    return overlay;
  }

  return {
    /**
     * Text, shrunk to its box. Undefined where there is no ink, as in spaces. Throws `invalid_input` for a character
     * that no font can draw.
     */
    render(text: string, style: TextStyle): Overlay | undefined {
      const layout = layOutOnce(text, style);
      if (!layout) return undefined;
      const { lines, scale, outline } = layout;
      const key = `${scale} ${style.color} ${outline} ${alignOf(lines, style)} ${lines.join('\n')}`;
      const overlay = overlays.get(key) ?? draw(layout, style);
      overlays.set(key, overlay);
      return overlay;
    },
  };
}

/** One line is drawn alike, whatever it would be flush with. */
function alignOf(lines: readonly string[], { align = 'left' }: TextStyle): Align {
  return lines.length > 1 ? align : 'left';
}
