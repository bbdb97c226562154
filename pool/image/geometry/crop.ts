import { ImageError } from '../engine.js';
import type { Raster } from '../raster.js';

/** A part of a picture, in pixels from its top left corner. */
export interface Rectangle {
  left: number;
  top: number;
  width: number;
  height: number;
}

/**
 * The part of every frame that lies in the rectangle. That it lies inside was judged by the header's word: an `ImageError`
 * `bad_image` where a decoder gave a smaller picture, of which no memory beyond is shown.
 */
export function cropRaster(raster: Raster, { left, top, width, height }: Rectangle): Raster {
  const { channels, frames } = raster;
  if (left + width > raster.width || top + height > raster.height) {
    throw new ImageError('bad_image', 'The picture is not of the size that its header says.');
  }
  const data = Buffer.allocUnsafeSlow(width * height * channels * frames);
  const bytes = width * channels;
  for (let frame = 0, to = 0; frame < frames; frame++) {
    for (let row = 0; row < height; row++, to += bytes) {
      const from = ((frame * raster.height + top + row) * raster.width + left) * channels;
      data.set(raster.data.subarray(from, from + bytes), to);
    }
  }
  return { data, width, height, channels, frames };
}
