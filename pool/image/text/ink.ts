import { LRUCache } from 'lru-cache';
import type { Overlay, Point, Raster } from '../raster.js';

export const inkColors = { black: '#000000', white: '#ffffff' } as const;
/** The inks that are chosen between. */
type Ink = keyof typeof inkColors;

/** What a channel's light counts in relative luminance. */
const weights = { red: 0.2126, green: 0.7152, blue: 0.0722 };

/** Light of an 8 bit value, 0 to 1, as WCAG 2 adds it up (https://www.w3.org/TR/WCAG22/#dfn-relative-luminance). */
function linear(value: number): number {
  const part = value / 255;
  return part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
}

/** Contrast ratio of two relative luminances, 1 to 21 (WCAG 2). */
export function contrastOf(one: number, other: number): number {
  return (Math.max(one, other) + 0.05) / (Math.min(one, other) + 0.05);
}

/** Relative luminance of `#rrggbb`, 0 to 1. */
export function luminanceOf(color: string): number {
  const [red = 0, green = 0, blue = 0] = Buffer.from(color.slice(1), 'hex');
  return weights.red * linear(red) + weights.green * linear(green) + weights.blue * linear(blue);
}

/** Black or white, whichever stands out from a colour, `#rrggbb`. */
export function standsOutFrom(color: string): Ink {
  const light = luminanceOf(color);
  return contrastOf(light, 0) >= contrastOf(light, 1) ? 'black' : 'white';
}

/** Pixels of overlays that are looked at, at most: more of them change the means by less than can be seen. */
const maxSamples = 60_000;

/** What each value of a channel becomes under an ink of so much opacity, as light. */
function lightUnder(ink: number, opacity: number): Float64Array {
  return Float64Array.from({ length: 256 }, (_, value) => linear(value * (1 - opacity) + ink * opacity));
}

const bare = lightUnder(0, 0);
/** By opacity; cached, since on a small picture they would cost more than the rest. */
const lights = new LRUCache({
  max: 20,
  memoMethod: (opacity: number) => ({
    underBlack: lightUnder(0, opacity),
    underWhite: lightUnder(255, opacity),
  }),
});

/**
 * Black or white, whichever would stand out more where an overlay, in all its places together, lies on a picture.
 * Compared are the means, weighted by coverage, of the relative luminance before and after ink is laid on; transparent
 * is white. By the mean before alone, a dark picture with a few white spots would get white ink, which shows on
 * neither.
 */
export function chooseInk(raster: Raster, overlay: Overlay, places: readonly Point[], opacity: number): Ink {
  const { underBlack, underWhite } = lights.memo(opacity);
  const { data, width, height, channels, frames } = raster;
  const area = overlay.width * overlay.height * places.length * frames;
  const step = Math.max(1, Math.ceil(Math.sqrt(area / maxSamples)));
  let coverage = 0;
  let before = 0;
  let black = 0;
  let white = 0;

  function look(at: number, weight: number): void {
    let red = data[at] as number;
    let green = data[at + 1] as number;
    let blue = data[at + 2] as number;
    if (channels === 4) {
      const alpha = data[at + 3] as number;
      const paper = 255 * (255 - alpha) + 127;
      red = ((red * alpha + paper) / 255) | 0;
      green = ((green * alpha + paper) / 255) | 0;
      blue = ((blue * alpha + paper) / 255) | 0;
    }
    const r = weights.red * weight;
    const g = weights.green * weight;
    const b = weights.blue * weight;
    coverage += weight;
    before += r * (bare[red] as number) + g * (bare[green] as number) + b * (bare[blue] as number);
    black +=
      r * (underBlack[red] as number) + g * (underBlack[green] as number) + b * (underBlack[blue] as number);
    white +=
      r * (underWhite[red] as number) + g * (underWhite[green] as number) + b * (underWhite[blue] as number);
  }

  for (let frame = 0; frame < frames; frame++) {
    for (const [index, { left, top }] of places.entries()) {
      const right = Math.min(overlay.width, width - left);
      const bottom = Math.min(overlay.height, height - top);
      // Each place by other pixels of the overlay, lest all look between its letters.
      const turn = frame + index;
      for (let y = onGrid(-top, step, Math.floor(turn / step) % step); y < bottom; y += step) {
        for (let x = onGrid(-left, step, turn % step); x < right; x += step) {
          const weight = overlay.data[(y * overlay.width + x) * 4 + 3] as number;
          if (weight > 0) look(((frame * height + top + y) * width + left + x) * channels, weight);
        }
      }
    }
  }
  if (coverage === 0) return 'black';
  const light = before / coverage;
  const blackest = contrastOf(light, black / coverage);
  return blackest >= contrastOf(light, white / coverage) ? 'black' : 'white';
}

/** The first of `offset`, `offset + step` … that is at least `least`. */
function onGrid(least: number, step: number, offset: number): number {
  return least <= offset ? offset : offset + Math.ceil((least - offset) / step) * step;
}

const inverted = new WeakMap<Overlay, Overlay>();

/** The overlay with black for white and white for black, in place of a second drawing; cached as long as it. */
export function invertInk(overlay: Overlay): Overlay {
  const known = inverted.get(overlay);
  if (known) return known;
  const data = new Uint8Array(overlay.data);
  for (let i = 0; i < data.length; i += 4) {
    const alpha = data[i + 3] as number;
    if (alpha === 0) continue;
    for (let c = i; c < i + 3; c++) data[c] = alpha - (data[c] as number);
  }
  const result = { ...overlay, data };
  inverted.set(overlay, result);
  return result;
}

/** An overlay that was drawn in black, in the ink that stands out where it lies. */
export function inkFor(raster: Raster, overlay: Overlay, places: readonly Point[], opacity: number): Overlay {
  return chooseInk(raster, overlay, places, opacity) === 'black' ? overlay : invertInk(overlay);
}
