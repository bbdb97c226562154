import type Sharp from 'sharp';
import type { Sharp as Pipeline } from 'sharp';
import type { BorderOptions, ImageLimits, ResultFormat } from '../engine.js';
import { keepsAnimation } from '../formats.js';
import type { ImageHeader, Orientation } from '../header/probe.js';
import type { Raster } from '../raster.js';
import type { Operation } from '../recipe.js';
import { sharpFault } from './fault.js';

export type SharpModule = typeof Sharp;

/**
 * Pixels below which a still picture's border is drawn in its decoded pixels: `extend` runs a pipeline for one pixel of the
 * background, 0.9 ms, and a second pass over the picture costs more than that from 0.15 megapixels on. Both give the same.
 */
const ownBorderPixels = 100_000;
const white = { r: 255, g: 255, b: 255 };

/** Flips and turns that bring a picture of each orientation upright, in the order in which sharp applies them. */
const turns: Record<Orientation, (image: Pipeline) => Pipeline> = {
  1: (image) => image,
  2: (image) => image.flop(),
  3: (image) => image.rotate(180),
  4: (image) => image.flip(),
  5: (image) => image.flip().rotate(90),
  6: (image) => image.rotate(90),
  7: (image) => image.flip().rotate(270),
  8: (image) => image.rotate(270),
};

export interface Decoding {
  bytes: Uint8Array;
  header: ImageHeader;
  limits: ImageLimits;
  /** Whole seconds. */
  timeoutSeconds: number;
}

/** A pipeline that decodes for this format and does the first of the operations on the way, and those that are left. */
export function openPipeline(
  sharp: SharpModule,
  { bytes, header, limits, timeoutSeconds }: Decoding,
  operations: readonly Operation[],
  format: ResultFormat,
): { image: Pipeline; rest: readonly Operation[] } {
  const animated = isAnimated(header, format);
  const image = sharp(bytes, {
    pages: animated ? -1 : 1,
    limitInputPixels: limits.maxPixels,
    // A cut-off file is refused; what a camera wrote a little wrong is not.
    failOn: 'error',
  }).timeout({ seconds: timeoutSeconds });
  const { crop, resize, border, rest } = splitLeading(operations, header, animated);
  // Before anything is drawn, or sharp paints a purple border on a grey picture grey, and reads 16 bit with a
  // profile as if it were P3. CMYK alone finds its way by its own or a standard profile, and not from here. And a JPEG
  // that is only shrunk, for which none of this matters, is decoded at a fraction of its size only without it.
  const shrinksOnLoad = header.format === 'jpeg' && resize !== undefined;
  if (!header.cmyk && !shrinksOnLoad) image.pipelineColourspace('srgb');
  if (crop) image.extract({ left: crop.left, top: crop.top, width: crop.width, height: crop.height });
  if (resize) scale(image, asStored(resize, header.orientation));
  turns[header.orientation](image);
  // A JPEG has nothing to see through, and sharp takes long to read a colour.
  const mayHaveAlpha = header.format !== 'jpeg';
  if (format === 'jpg' && mayHaveAlpha) image.flatten({ background: white });
  if (border) extend(image, border);
  return { image, rest };
}

type Leading = { [K in 'crop' | 'resize' | 'border']?: Extract<Operation, { kind: K }> };

/**
 * What libvips does while it decodes: a crop and a change of size of one frame, or a border. A crop comes before its turn
 * upright, so only of what is stored upright. Frames of an animation are resized one by one: libvips has them in one tall
 * picture, where each would run into the next.
 */
function splitLeading(
  operations: readonly Operation[],
  header: ImageHeader,
  animated: boolean,
): Leading & { rest: readonly Operation[] } {
  const [first, second] = operations;
  if (first?.kind === 'border' && !isTiny(header)) return { border: first, rest: operations.slice(1) };
  if (animated) return { rest: operations };
  if (first?.kind === 'resize') return { resize: first, rest: operations.slice(1) };
  if (first?.kind !== 'crop' || header.orientation !== 1) return { rest: operations };
  if (second?.kind !== 'resize') return { crop: first, rest: operations.slice(1) };
  return { crop: first, resize: second, rest: operations.slice(2) };
}

/** Width and height before the picture is turned upright. */
function asStored({ width, height }: { width: number; height: number }, orientation: Orientation) {
  return orientation > 4 ? { width: height, height: width } : { width, height };
}

/**
 * By the kernel of three lobes, sharp's own choice. Without `fastShrinkOnLoad` a JPEG is decoded at twice the size or more
 * that it is to have, so that the kernel still has something to choose from.
 */
function scale(image: Pipeline, { width, height }: { width: number; height: number }): Pipeline {
  return image.resize({ width, height, fit: 'fill', kernel: 'lanczos3', fastShrinkOnLoad: false });
}

export function isAnimated(header: ImageHeader, format: ResultFormat): boolean {
  return header.frames > 1 && keepsAnimation('sharp', format);
}

function isTiny({ width, height, frames }: ImageHeader): boolean {
  return frames === 1 && width * height < ownBorderPixels;
}

function extend(image: Pipeline, { width, color }: BorderOptions): void {
  if (width > 0) image.extend({ top: width, right: width, bottom: width, left: width, background: color });
}

/** A pipeline over decoded pixels. */
export function fromRaster(sharp: SharpModule, raster: Raster, timeoutSeconds: number): Pipeline {
  const { data, width, height, channels, frames } = raster;
  const still = { width, height: height * frames, channels };
  const raw = frames > 1 ? { ...still, pageHeight: height } : still;
  return sharp(data, { raw, limitInputPixels: false }).timeout({ seconds: timeoutSeconds });
}

/** Every frame at another size, each by itself. */
export async function resizeFrames(
  sharp: SharpModule,
  raster: Raster,
  size: { width: number; height: number },
  timeoutSeconds: number,
): Promise<Raster> {
  const bytes = raster.width * raster.height * raster.channels;
  const resized: Uint8Array[] = [];
  for (let frame = 0; frame < raster.frames; frame++) {
    const data = raster.data.subarray(frame * bytes, (frame + 1) * bytes);
    const image = fromRaster(sharp, { ...raster, data, frames: 1 }, timeoutSeconds);
    resized.push((await toRaster(scale(image, size))).data);
  }
  const [only] = resized;
  return { ...raster, ...size, data: resized.length === 1 && only ? only : Buffer.concat(resized) };
}

export async function toRaster(image: Pipeline): Promise<Raster> {
  const { data, info } = await image.raw().toBuffer({ resolveWithObject: true }).catch(sharpFault);
  const { width, pages: frames = 1, channels } = info;
  return { data, width, height: info.height / frames, channels: channels as 3 | 4, frames };
}
