import { drawBorder } from './border.js';
import type { Size } from './engine.js';
import { blendOverlay, cropRaster, type Raster } from './raster.js';
import type { Operation } from './recipe.js';
import { orientRaster, quarterTurns, rotateRaster } from './rotate.js';
import type { LoadText } from './text/overlay.js';
import { drawMark } from './watermark.js';

/** What a recipe runs with. */
export interface Tools {
  text: LoadText;
  /** Every frame at another size: the one operation that each engine does in its own way. */
  resize(raster: Raster, size: Size): Raster | Promise<Raster>;
  /** Whether what a turn leaves empty is white, for a format that has no transparency. */
  opaque: boolean;
}

/** Runs a recipe on decoded pixels, which it may change in place; the same for both engines. */
export async function applyOperations(
  raster: Raster,
  operations: readonly Operation[],
  tools: Tools,
): Promise<Raster> {
  let current = raster;
  for (const operation of operations) current = await apply(current, operation, tools);
  return current;
}

async function apply(raster: Raster, operation: Operation, { text, resize, opaque }: Tools): Promise<Raster> {
  switch (operation.kind) {
    case 'border':
      return drawBorder(raster, operation, opaque);
    case 'watermark':
      await drawMark(raster, operation, text);
      return raster;
    case 'resize': {
      const { width, height } = operation;
      return raster.width === width && raster.height === height ? raster : resize(raster, { width, height });
    }
    case 'crop':
      return cropRaster(raster, operation);
    case 'turn':
      return orientRaster(raster, quarterTurns[operation.degrees] ?? 1);
    case 'rotate':
      return rotateRaster(raster, operation, opaque);
    case 'composite':
      blendOverlay(raster, await operation.overlay(), operation);
      return raster;
  }
}
