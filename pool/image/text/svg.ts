import type { Align } from './style.js';

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
export const unscaledSize = 100;
/** From line to line of the unscaled text, in pixels. */
export const lineHeight = 120;

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
