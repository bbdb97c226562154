import fc from 'fast-check';
import type { Raster } from '../../../pool/image/raster.js';

/** Small pictures of any pixels, with and without alpha, some of several frames. */
export function rasters(channels?: 3 | 4): fc.Arbitrary<Raster> {
  return fc
    .record({
      width: fc.integer({ min: 1, max: 9 }),
      height: fc.integer({ min: 1, max: 9 }),
      frames: fc.integer({ min: 1, max: 3 }),
      channels: channels ? fc.constant(channels) : fc.constantFrom<3 | 4>(3, 4),
    })
    .chain((shape) => {
      const length = shape.width * shape.height * shape.frames * shape.channels;
      const value = fc.oneof(fc.nat(255), fc.constantFrom(0, 255));
      return fc
        .array(value, { minLength: length, maxLength: length })
        .map((data) => ({ ...shape, data: Uint8Array.from(data) }));
    });
}

/** Red, green, blue and alpha of one pixel. */
export function pixelAt(
  { data, width, height, channels }: Raster,
  frame: number,
  x: number,
  y: number,
): number[] {
  const at = ((frame * height + y) * width + x) * channels;
  return channels === 4 ? [...data.subarray(at, at + 4)] : [...data.subarray(at, at + 3), 255];
}

/** Every pixel of a raster as it should be, by its place. */
export function pixelsWhere(
  { width, height, frames }: { width: number; height: number; frames: number },
  pixel: (frame: number, x: number, y: number) => number[],
): number[][] {
  const pixels: number[][] = [];
  for (let frame = 0; frame < frames; frame++) {
    for (let y = 0; y < height; y++) for (let x = 0; x < width; x++) pixels.push(pixel(frame, x, y));
  }
  return pixels;
}

/** Every pixel of a raster as it is. */
export function pixelsOf(raster: Raster): number[][] {
  return pixelsWhere(raster, (frame, x, y) => pixelAt(raster, frame, x, y));
}
