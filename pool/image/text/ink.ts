import { LRUCache } from 'lru-cache';
import type { Overlay, Point, Raster } from '../raster.js';
import { contrastOf, type Ink, linear, weights } from './contrast.js';

/** Pixels of overlays that are looked at, at most: more of them change the means by less than can be seen. */
const maxSamples = 60_000;

/** What each value of a channel becomes under an ink of so much opacity, as light. */
function lightUnder(ink: number, opacity: number): Float64Array {
  return Float64Array.from({ length: 256 }, (_, value) => linear(value * (1 - opacity) + ink * opacity));
}

const bare = lightUnder(0, 0);
const lights = new LRUCache<number, { underBlack: Float64Array; underWhite: Float64Array }>({ max: 20 });

/** Kept: on a small picture they would cost more than the rest. */
function lightsOf(opacity: number) {
  const known = lights.get(opacity);
  if (known) return known;
  const made = { underBlack: lightUnder(0, opacity), underWhite: lightUnder(255, opacity) };
  lights.set(opacity, made);
  return made;
}

/**
 * Black or white, whichever would stand out more where an overlay, in all its places together, lies on a picture: one
 * ink for all frames. Compared are the means, weighted by the overlay's coverage, of the relative luminance of the
 * pixels before and after ink of that opacity (0 to 1) is laid on; what is transparent counts as laid on white. At
 * opacity 0.5 one of the two always has a contrast of 2:1 and more, whatever the picture: by the mean before
 * alone, a dark picture with a few white spots would be given white ink, which shows on neither.
 */
export function chooseInk(raster: Raster, overlay: Overlay, places: readonly Point[], opacity: number): Ink {
  const { underBlack, underWhite } = lightsOf(opacity);
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

/** The same overlay with black for white and white for black, in place of a second drawing; kept while the first is. */
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
