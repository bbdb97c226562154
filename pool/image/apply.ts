import { drawBorder } from './border.js';
import { compositeRaster, cropRaster, type Raster } from './raster.js';
import type { Operation } from './recipe.js';
import { orientRaster, rotateRaster } from './rotate.js';
import type { LoadText } from './text/overlay.js';
import { drawMark } from './watermark.js';

/** What a recipe runs with. */
export interface Tools {
  text: LoadText;
  /** Every frame at another size: the one operation that each engine does in its own way. */
  resize(raster: Raster, size: { width: number; height: number }): Raster | Promise<Raster>;
  /** Whether what a turn leaves empty is white, for a format that has no transparency. */
  opaque: boolean;
}

/** The EXIF orientations whose pictures are brought upright by these turns. */
const orientations = { 90: 6, 180: 3, 270: 8 } as const;

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

function apply(raster: Raster, operation: Operation, tools: Tools): Raster | Promise<Raster> {
  switch (operation.kind) {
    case 'border':
      return drawBorder(raster, operation, tools.opaque);
    case 'watermark':
      return watermark(raster, operation, tools);
    case 'resize':
      return resize(raster, operation, tools);
    case 'crop':
      return cropRaster(raster, operation);
    case 'turn':
      return orientRaster(raster, orientations[operation.degrees]);
    case 'rotate':
      return rotateRaster(raster, operation, tools.opaque);
    case 'composite':
      return composite(raster, operation);
  }
}

function resize(raster: Raster, { width, height }: { width: number; height: number }, tools: Tools) {
  const same = raster.width === width && raster.height === height;
  return same ? raster : tools.resize(raster, { width, height });
}

async function watermark(raster: Raster, step: Operation & { kind: 'watermark' }, { text }: Tools) {
  await drawMark(raster, step, text);
  return raster;
}

async function composite(raster: Raster, step: Operation & { kind: 'composite' }): Promise<Raster> {
  compositeRaster(raster, await step.overlay(), step.left, step.top);
  return raster;
}
