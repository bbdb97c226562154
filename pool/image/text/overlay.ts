import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { initWasm, Resvg, type ResvgRenderOptions } from '@resvg/resvg-wasm';
import { LRUCache } from 'lru-cache';
import { codedError } from '../../coded-error.js';
import { once } from '../../once.js';
import type { FontSet } from './fonts.js';
import { type TextLayout, textSvg, unscaledSize } from './svg.js';

/** Drawn text: premultiplied RGBA, tight around the ink. */
export interface Overlay {
  data: Uint8Array;
  /** Pixels. */
  width: number;
  height: number;
}

export interface TextStyle {
  /** Pixels. */
  fontSize: number;
  /** `#rrggbb`. */
  color: string;
  /** Pixels around the letters, black or white, whichever stands out from the colour; shrunk as the text is. Default 0. */
  outline?: number | undefined;
  /** The side that lines are flush with. Default `left`. */
  align?: Align | undefined;
  /** The room there is, in whole pixels, at least one; the text is shrunk to it. */
  maxWidth: number;
  maxHeight: number;
  /** Breaks the text into lines no wider than the room, at most so many; without it there is one line. */
  wrap?: { maxLines: number } | undefined;
}

export type Align = 'left' | 'center' | 'right';

export interface TextRenderer {
  /**
   * One line of text, shrunk until its ink fits the room. Undefined where there is no ink, as in a line of spaces.
   * Throws `{code: 'invalid_input', details}` for a character that no font can draw.
   */
  render(text: string, style: TextStyle): Overlay | undefined;
}

/** The renderer, loaded when it is first asked for. */
export type LoadText = () => Promise<TextRenderer>;

interface Box {
  x: number;
  y: number;
  width: number;
  height: number;
}

const cacheBytes = 16 * 1024 * 1024;

/** The wasm module must be started once a thread and no more. */
const startResvg = once(async () => {
  const path = createRequire(import.meta.url).resolve('@resvg/resvg-wasm/index_bg.wasm');
  await initWasm(new Uint8Array(await readFile(path)));
});

/**
 * The one renderer of watermark text, whatever the image engine: the same text gives the same pixels. Shaping, accents
 * and right-to-left order are resvg's. Its results are kept, 16 MB at most, since a tenant's watermark is mostly the
 * same one.
 */
export async function createTextRenderer(fonts: FontSet): Promise<TextRenderer> {
  await startResvg();
  const boxes = new LRUCache<string, { box: Box | undefined }>({ max: 500 });
  const overlays = new LRUCache<string, Overlay>({
    maxSize: cacheBytes,
    maxEntrySize: cacheBytes / 4,
    sizeCalculation: (overlay) => overlay.data.length + 1024,
  });

  function open(text: string, layout: Omit<TextLayout, 'fontFamily'>) {
    const { buffers, family } = fonts.chosenFor(text);
    const options: ResvgRenderOptions = { font: { fontBuffers: buffers, defaultFontFamily: family } };
    return new Resvg(textSvg(text, { ...layout, fontFamily: family }), options);
  }

  /** Outlines scale evenly (nothing is hinted), so one measurement holds for every size. */
  function measure(text: string): Box | undefined {
    const known = boxes.get(text);
    if (known) return known.box;
    const missing = fonts.missing(text);
    if (missing.length > 0) throw undrawable(missing);
    const resvg = open(text, { color: '#000000', width: 1, height: 1, x: 0, y: 0, scale: 1 });
    const { x = 0, y = 0, width = 0, height = 0 } = resvg.getBBox() ?? {};
    resvg.free();
    const box = width > 0 && height > 0 ? { x, y, width, height } : undefined;
    boxes.set(text, { box });
    return box;
  }

  function draw(text: string, box: Box, scale: number, style: TextStyle): Overlay {
    const width = Math.min(Math.ceil(box.width * scale), style.maxWidth);
    const height = Math.min(Math.ceil(box.height * scale), style.maxHeight);
    const resvg = open(text, { color: style.color, width, height, x: box.x, y: box.y, scale });
    const image = resvg.render();
    const overlay = { data: image.pixels, width, height };
    image.free();
    resvg.free();
    return overlay;
  }

  return {
    render(text, style) {
      const box = measure(text);
      if (!box) return undefined;
      const wanted = style.fontSize / unscaledSize;
      const scale = Math.min(wanted, style.maxWidth / box.width, style.maxHeight / box.height);
      const key = `${scale} ${style.color} ${text}`;
      const overlay = overlays.get(key) ?? draw(text, box, scale, style);
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
