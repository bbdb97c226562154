/** Where a line of text stands on a canvas: everything in pixels. */
export interface TextLayout {
  fontFamily: string;
  /** `#rrggbb`. */
  color: string;
  /** The canvas. */
  width: number;
  height: number;
  /** The point of the unscaled text that goes to the canvas's top left corner. */
  x: number;
  y: number;
  scale: number;
}

/** Font size of the unscaled text, in pixels. */
export const unscaledSize = 100;

const rightToLeft =
  /^\P{L}*[\p{Script=Hebrew}\p{Script=Arabic}\p{Script=Syriac}\p{Script=Thaana}\p{Script=Nko}]/u;

/** Right-to-left isolate and its end (Unicode UAX #9, section 2.4). */
const isolate = '\u2067';
const isolateEnd = '\u2069';

/**
 * An SVG with one line of text, drawn exactly as given: nothing in it is markup and every space counts. A line whose
 * first letter is of a right-to-left script runs from right to left as a whole, as a browser's `dir="auto"` does;
 * SVG by itself would put its closing "!" on the wrong side.
 */
export function textSvg(text: string, layout: TextLayout): string {
  const { fontFamily, color, width, height, x, y, scale } = layout;
  const line = rightToLeft.test(text) ? `${isolate}${text}${isolateEnd}` : text;
  return (
    `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}">` +
    `<text transform="translate(${-x * scale} ${-y * scale}) scale(${scale})" xml:space="preserve" ` +
    `font-family="${escapeXml(fontFamily)}" font-size="${unscaledSize}" fill="${color}">` +
    `${escapeXml(line)}</text></svg>`
  );
}

function escapeXml(text: string): string {
  return text.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);
}
