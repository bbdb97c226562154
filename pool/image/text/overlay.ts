import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { initWasm, Resvg, type ResvgRenderOptions } from '@resvg/resvg-wasm';
import { LRUCache } from 'lru-cache';
import { once } from '../../concurrency.js';
import { codedError } from '../../errors.js';
import type { Overlay } from '../raster.js';
import { inkColors, standsOutFrom } from './contrast.js';
import type { FontSet } from './fonts.js';
import {
  type Align,
  type Box,
  type Layout,
  layOut,
  lineBreak,
  type PreparedText,
  prepareText,
  type TextPlace,
  type TextStyle,
  textSvg,
} from './layout.js';

export interface TextRenderer {
  /**
   * Text, shrunk until its ink, with its outline, fits its box. A line break in it begins a line. Undefined where there is
   * no ink, as in a line of spaces. Throws `{code: 'invalid_input', details}` for a character that no font can draw.
   */
  render(text: string, style: TextStyle): Overlay | undefined;
}

/** The renderer, loaded when it is first asked for. */
export type LoadText = () => Promise<TextRenderer>;

const unscaled = {
  color: '#000000',
  stroke: { color: '#000000', width: 0 },
  width: 1,
  height: 1,
  x: 0,
  y: 0,
  scale: 1,
};
const cacheBytes = 16 * 1024 * 1024;

/** The wasm module must be started once a thread and no more. */
const startResvg = once(async () => {
  const path = createRequire(import.meta.url).resolve('@resvg/resvg-wasm/index_bg.wasm');
  await initWasm(new Uint8Array(await readFile(path)));
});

/**
 * The one renderer of watermark text, whatever the image engine: the same text gives the same pixels. Shaping and accents
 * are resvg's. Its results are cached, 16 MB at most: a tenant's watermark is
 * mostly the same one.
 */
export async function createTextRenderer(fonts: FontSet): Promise<TextRenderer> {
  await startResvg();
  const texts = new LRUCache<string, PreparedText>({ max: 500 });
  const boxes = new LRUCache<string, { box: Box | undefined }>({ max: 500 });
  const wrappings = new LRUCache<string, { layout: Layout | undefined }>({ max: 500 });
  const overlays = new LRUCache<string, Overlay>({
    maxSize: cacheBytes,
    maxEntrySize: cacheBytes / 4,
    sizeCalculation: (overlay) => overlay.data.length + 1024,
  });
  const ellipsis = fonts.missing('…').length === 0 ? '…' : '...';
  const widths = { of: fonts.advance, ellipsis };

  function prepare(text: string): PreparedText {
    const known = texts.get(text);
    if (known) return known;
    const missing = fonts.missing(text.replaceAll(lineBreak, ' '));
    if (missing.length > 0) throw undrawable(missing);
    const prepared = prepareText(text);
    texts.set(text, prepared);
    return prepared;
  }

  function open(lines: readonly string[], place: Omit<TextPlace, 'fontFamily'>) {
    const { buffers, family } = fonts.chosenFor(lines.join(' '));
    const options: ResvgRenderOptions = { font: { fontBuffers: buffers, defaultFontFamily: family } };
    return new Resvg(textSvg(lines, { ...place, fontFamily: family }), options);
  }

  /** Outlines scale evenly (nothing is hinted), so one measurement holds for every size. */
  function measure(lines: readonly string[], align: Align): Box | undefined {
    const key = `${align} ${lines.join('\n')}`;
    const known = boxes.get(key);
    if (known) return known.box;
    const resvg = open(lines, { ...unscaled, align });
    const { x = 0, y = 0, width = 0, height = 0 } = resvg.getBBox() ?? {};
    resvg.free();
    const box = width > 0 && height > 0 ? { x, y, width, height } : undefined;
    boxes.set(key, { box });
    return box;
  }

  function layOutOnce(text: string, prepared: PreparedText, style: TextStyle): Layout | undefined {
    const { fontSize, outline = 0, align = 'left', maxWidth, maxHeight, wrap } = style;
    const measures = {
      widths,
      measure: (lines: readonly string[]) => measure(lines, lines.length > 1 ? align : 'left'),
    };
    if (!wrap) return layOut(prepared, style, measures);
    const key = [fontSize, outline, align, maxWidth, maxHeight, wrap.maxLines, text].join(' ');
    const known = wrappings.get(key) ?? { layout: layOut(prepared, style, measures) };
    wrappings.set(key, known);
    return known.layout;
  }

  function draw({ lines, box, scale, outline }: Layout, style: TextStyle, align: Align): Overlay {
    const width = Math.min(Math.ceil(box.width * scale + 2 * outline), style.maxWidth);
    const height = Math.min(Math.ceil(box.height * scale + 2 * outline), style.maxHeight);
    const resvg = open(lines, {
      color: style.color,
      stroke: { color: inkColors[standsOutFrom(style.color)], width: 2 * outline },
      align,
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
    render(text, style) {
      const layout = layOutOnce(text, prepare(text), style);
      if (!layout) return undefined;
      const { lines, scale, outline } = layout;
      const align = lines.length > 1 ? (style.align ?? 'left') : 'left';
      const key = `${scale} ${style.color} ${outline} ${align} ${lines.join('\n')}`;
      const overlay = overlays.get(key) ?? draw(layout, style, align);
      overlays.set(key, overlay);
      return overlay;
    },
  };
}

/** The same as `invalidInput` of the plugins' interface, which this folder does not import. */
function undrawable(characters: string[]): Error {
  const problem = `has a character that no loaded font can draw: ${characters.join(' ')}`;
  return codedError('invalid_input', `text ${problem}`, { details: [{ field: 'text', problem }] });
}
