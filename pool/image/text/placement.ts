import type { Corner, WatermarkOptions } from '../engine.js';
import type { Raster } from '../raster.js';
import { autoFontSize } from './auto-size.js';
import { blendOverlay } from './blend.js';
import { inkColors, inkFor } from './ink.js';
import type { Overlay, TextRenderer } from './overlay.js';

/** Where a watermark lies; the rectangle is always inside the picture. */
export interface Placement {
  overlay: Overlay;
  /** Pixels from the left and the top edge. */
  left: number;
  top: number;
}

/** Distance of the ink from both edges: half the font size, but no more than a twentieth of the shorter side. */
export function marginOf(width: number, height: number, fontSize: number): number {
  return Math.floor(Math.min(fontSize / 2, Math.min(width, height) / 20));
}

/** Shrinks the line to what the margins leave and puts it into its corner. Undefined where there is no ink. */
export function placeWatermark(
  { width, height }: { width: number; height: number },
  options: WatermarkOptions,
  renderer: TextRenderer,
): Placement | undefined {
  const { text, position, outline, wrap } = options;
  const fontSize = options.fontSize === 'auto' ? autoFontSize({ width, height }) : options.fontSize;
  const color = options.color === 'auto' ? inkColors.black : options.color;
  const margin = marginOf(width, height, fontSize);
  const room = { maxWidth: width - 2 * margin, maxHeight: height - 2 * margin };
  const [vertical, horizontal] = position.split('-') as SplitCorner<Corner>;
  const overlay = renderer.render(text, { fontSize, color, outline, align: horizontal, wrap, ...room });
  if (!overlay) return undefined;
  return {
    overlay,
    left: horizontal === 'left' ? margin : width - margin - overlay.width,
    top: vertical === 'top' ? margin : height - margin - overlay.height,
  };
}

type SplitCorner<C> = C extends `${infer V}-${infer H}` ? [V, H] : never;

/** Draws the watermark on every frame, in place. */
export function drawWatermark(raster: Raster, options: WatermarkOptions, renderer: TextRenderer): void {
  const placement = placeWatermark(raster, options, renderer);
  if (!placement) return;
  const { overlay, left, top } = placement;
  const { color, opacity } = options;
  const drawn = color === 'auto' ? inkFor(raster, overlay, [placement], opacity) : overlay;
  blendOverlay(raster, drawn, left, top, opacity);
}
