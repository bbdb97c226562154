import type { BorderOptions } from '../engine.js';
import { inPixels, type Measure } from '../measure.js';

/** A border in pixels. */
export interface BorderPlan {
  top: number;
  right: number;
  bottom: number;
  left: number;
  /** `#rrggbb`. */
  color: string;
  /** Of the outer corners; 0 for square ones. */
  radius: number;
  /** Over the picture's own edges. */
  inset: boolean;
}

/** What judged options mean for a picture of this size, and the size that it then has. */
export function planBorder(
  size: { width: number; height: number },
  {
    width,
    top = width,
    right = width,
    bottom = width,
    left = width,
    color,
    radius = 0,
    inset,
  }: BorderOptions,
): { plan: BorderPlan; width: number; height: number } {
  const shorter = Math.min(size.width, size.height);
  const pixels = (measure: Measure) => inPixels(measure, shorter);
  const sides = { top: pixels(top), right: pixels(right), bottom: pixels(bottom), left: pixels(left) };
  const grown = inset
    ? size
    : { width: size.width + sides.left + sides.right, height: size.height + sides.top + sides.bottom };
  // As CSS has it: corners that would meet are made smaller until they touch.
  const roundest = Math.floor(Math.min(grown.width, grown.height) / 2);
  const plan = { ...sides, color, radius: Math.min(pixels(radius), roundest), inset: inset === true };
  return { plan, width: grown.width, height: grown.height };
}
