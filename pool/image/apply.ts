import type { Operation } from './operation.js';
import { extendRaster, type Raster } from './raster.js';
import type { TextRenderer } from './text/overlay.js';
import { drawWatermark } from './text/placement.js';

/** Runs a recipe on decoded pixels, which it may change in place; the same for both engines. */
export function applyOperations(
  raster: Raster,
  operations: readonly Operation[],
  text: TextRenderer,
): Raster {
  let current = raster;
  for (const operation of operations) {
    if (operation.kind === 'border') current = extendRaster(current, operation);
    else drawWatermark(current, operation, text);
  }
  return current;
}
