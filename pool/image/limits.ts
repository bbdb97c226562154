import { ImageError, type ImageLimits, type ResultFormat } from './engine.js';

export interface Size {
  /** Pixels. */
  width: number;
  /** Pixels of one frame. */
  height: number;
  frames: number;
}

/** The longest side that a format can store, in pixels; of an avif, the longest that its encoder takes. */
const longestSide: Record<ResultFormat, number> = {
  png: 2_147_483_647,
  jpg: 65_500,
  webp: 16_383,
  gif: 65_535,
  avif: 16_384,
};

/** Throws an `ImageError` `image_too_large` that names the numbers and the limit. */
export function checkSize(what: 'image' | 'result', size: Size, limits: ImageLimits): void {
  if (size.frames > limits.maxFrames) {
    throw tooLarge(
      `The ${what} has more than ${limits.maxFrames} frames, the most that this gateway accepts.`,
    );
  }
  checkPixels(what === 'image' ? 'The image is' : 'The result would be', size, limits);
}

/** The same for a picture on the way to the result, which is decoded pixels and of no format. */
export function checkStep(size: Size, limits: ImageLimits): void {
  checkPixels('A picture on the way to the result would be', size, limits);
}

function checkPixels(subject: string, { width, height, frames }: Size, { maxPixels }: ImageLimits): void {
  const pixels = width * height * frames;
  if (pixels <= maxPixels) return;
  const product = frames > 1 ? `${width} × ${height} × ${frames} frames` : `${width} × ${height}`;
  throw tooLarge(`${subject} ${product} = ${pixels} pixels; the limit is ${maxPixels}.`);
}

/** The same for what is to be encoded, which the format bounds as well. */
export function checkResult(size: Size, format: ResultFormat, limits: ImageLimits): void {
  checkSize('result', size, limits);
  const longest = longestSide[format];
  if (Math.max(size.width, size.height) <= longest) return;
  throw tooLarge(
    `The result would be ${size.width} × ${size.height} pixels; ${format === 'avif' ? 'an' : 'a'} ${format} holds at most ${longest} on a side.`,
  );
}

function tooLarge(message: string): ImageError {
  return new ImageError('image_too_large', message);
}
