import { ImageError, type ImageFormat, type ImageLimits } from './engine.js';

interface Size {
  width: number;
  height: number;
  frames: number;
}

/** The longest side that a format can store, in pixels. */
const longestSide: Record<ImageFormat, number> = { png: 2_147_483_647, jpg: 65_500, webp: 16_383 };

/** Throws an `ImageError` `image_too_large` that names the numbers and the limit. */
export function checkSize(what: 'image' | 'result', size: Size, limits: ImageLimits): void {
  const { width, height, frames } = size;
  if (frames > limits.maxFrames) {
    throw tooLarge(
      `The ${what} has more than ${limits.maxFrames} frames, the most that this gateway accepts.`,
    );
  }
  const pixels = width * height * frames;
  if (pixels <= limits.maxPixels) return;
  const product = frames > 1 ? `${width} × ${height} × ${frames} frames` : `${width} × ${height}`;
  throw tooLarge(
    `The ${what} ${what === 'image' ? 'is' : 'would be'} ${product} = ${pixels} pixels; the limit is ${limits.maxPixels}.`,
  );
}

/** The same for what is to be encoded, which the format bounds as well. */
export function checkResult(size: Size, format: ImageFormat, limits: ImageLimits): void {
  checkSize('result', size, limits);
  const longest = longestSide[format];
  if (Math.max(size.width, size.height) <= longest) return;
  throw tooLarge(
    `The result would be ${size.width} × ${size.height} pixels; a ${format} holds at most ${longest} on a side.`,
  );
}

function tooLarge(message: string): ImageError {
  return new ImageError('image_too_large', message);
}
