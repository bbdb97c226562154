import { once } from '../concurrency.js';
import { type BorderPlan, drawBorder, planBorder } from './border.js';
import {
  checkResult,
  checkSize,
  type EncodeOptions,
  type EngineName,
  type FrameSize,
  type Image,
  ImageError,
  type ImageLimits,
  type Orientation,
  type ResizeOptions,
  type ResultFormat,
  type Size,
  type SourceImageFormat,
} from './engine.js';
import { type Cover, findFocus } from './focus.js';
import {
  keepsAnimation,
  mediaTypes,
  validateBackground,
  validateBorder,
  validateComposite,
  validateCrop,
  validateEncode,
  validateMark,
  validateResize,
  validateRotate,
} from './options.js';
import { blendOverlay, cropRaster, type Raster, type Rectangle } from './raster.js';
import { planResize } from './resize.js';
import { orientRaster, quarterTurns, type Rotation, rotatedSize, rotateRaster } from './rotate.js';
import type { LoadText } from './text/overlay.js';
import { drawMark, type Mark } from './watermark.js';

/** One step of a picture's recipe; its numbers are validated and its sizes computed. */
export type Operation =
  | ({ kind: 'border' } & BorderPlan)
  | ({ kind: 'watermark' } & Mark)
  | { kind: 'resize'; width: number; height: number }
  /** Where it is cut is found in the picture, `shrunk` or as it is before. */
  | ({ kind: 'cover'; shrunk: boolean } & Cover)
  | ({ kind: 'crop' } & Rectangle)
  | { kind: 'turn'; orientation: Orientation }
  | ({ kind: 'rotate' } & Rotation)
  | { kind: 'composite'; overlay: () => Promise<Raster>; left: number; top: number };

/** A file that an engine has looked at, and how the engine runs recipes on it. */
interface OpenedFile {
  /** What it is called where it is one of several. */
  name?: string | undefined;
  engine: EngineName;
  format: SourceImageFormat;
  /** Frames of the file; `size`, which is upright, has those that the engine gives. */
  frames: number;
  bytes: Uint8Array;
  size: FrameSize;
  limits: ImageLimits;
  /** Runs a recipe and returns the encoded bytes. */
  render(operations: readonly Operation[], format: ResultFormat, options: EncodeOptions): Promise<Uint8Array>;
  /** Runs a recipe on the first frame and returns its pixels. */
  pixels(operations: readonly Operation[]): Promise<Raster>;
}

interface Recipe {
  /** With the copy of its bytes that was made for plugins, once there is one. */
  file: OpenedFile & { copy?: Uint8Array };
  operations: readonly Operation[];
  size: FrameSize;
  /** The largest picture on the way so far, and the largest on the way of all that was laid over it. */
  largest: FrameSize;
  largestOverlay: FrameSize;
}

/** Encoded pictures, which only their handler has: their memory may be moved to another thread. */
export const freshBytes = new WeakSet<Uint8Array>();

/** Pixels up to which a drawn overlay is cached with its image: a logo may be laid many times. */
const cachedPixels = 1_000_000;

/** What an image was recorded as, for another that it is laid over; hidden from plugins. */
const recipes = new WeakMap<Image, { largest: FrameSize; pixels: () => Promise<Raster> }>();

/** The pixels of an image's first frame. Throws a TypeError for what no engine has opened. */
export function pixelsOf(image: Image): Promise<Raster> {
  return recordOf(image, 'pixelsOf').pixels();
}

/** An `Image` that records its operations and hands them to the engine when it is encoded, its sizes checked. */
export function recordImage(file: OpenedFile): Image {
  const { size } = file;
  return toImage({ file: { ...file }, operations: [], size, largest: size, largestOverlay: size });
}

function toImage(recipe: Recipe): Image {
  const { file, size, operations, largest, largestOverlay } = recipe;

  function then(operation: Operation, { width, height }: Size, overlay = largestOverlay, most: Size = size) {
    const next = { ...size, width, height };
    const onTheWay = [next, { ...size, ...most }].reduce(largerSize, largest);
    const all = { operations: [...operations, operation], size: next, largest: onTheWay };
    return toImage({ ...recipe, ...all, largestOverlay: overlay });
  }

  function nameFault(error: unknown): never {
    throw file.name !== undefined && error instanceof ImageError ? error.of(file.name) : error;
  }

  const image: Image = {
    ...size,
    format: file.format,
    type: mediaTypes[file.format],
    get bytes() {
      file.copy ??= new Uint8Array(file.bytes);
      return file.copy;
    },
    border(options) {
      const { plan, ...grown } = planBorder(size, validateBorder(options));
      return then({ kind: 'border', ...plan }, grown);
    },
    watermark(options) {
      const logo = options?.mark === undefined ? undefined : recordOf(options.mark, 'watermark');
      const operation = { kind: 'watermark', ...validateMark(options, logo?.pixels) } as const;
      return then(operation, size, logo && largerSize(largestOverlay, logo.largest));
    },
    resize(options: ResizeOptions) {
      const wanted = validateResize(options);
      const { width, height, crop } = planResize(size, wanted);
      if (crop && wanted.focus === 'auto') {
        // Engines decode all but a JPEG to the same pixels; a JPEG may be shrunk while it is decoded, which is fast.
        const shrunk = file.format === 'jpg' && width <= size.width && height <= size.height;
        const cover = { width: crop.width, height: crop.height, scaled: { width, height }, shrunk };
        return then({ kind: 'cover', ...cover }, crop, largestOverlay, cover.scaled);
      }
      const resized = then({ kind: 'resize', width, height }, { width, height });
      return crop ? resized.crop(crop) : resized;
    },
    crop(options) {
      const rectangle = validateCrop(options, size);
      return then({ kind: 'crop', ...rectangle }, rectangle);
    },
    rotate(angle, options = {}) {
      const degrees = validateRotate(angle);
      const background = validateBackground(options);
      if (degrees === 0) return image;
      const turned = rotatedSize(size, degrees);
      const orientation = quarterTurns[degrees];
      if (orientation) return then({ kind: 'turn', orientation }, turned);
      return then({ kind: 'rotate', degrees, background, ...turned }, turned);
    },
    composite(other, options = {}) {
      const overlay = recordOf(other, 'composite');
      const place = validateComposite(options);
      const operation = { kind: 'composite', overlay: overlay.pixels, ...place } as const;
      return then(operation, size, largerSize(largestOverlay, overlay.largest));
    },
    async encode(format, options = {}) {
      const { result, settings } = validateEncode(format, options, file);
      const frames = keepsAnimation(file.engine, result) ? size.frames : 1;
      checkResult({ ...size, frames }, result, file.limits);
      const onTheWay = 'A picture on the way to the result';
      checkSize(onTheWay, { ...largest, frames }, file.limits);
      checkSize(onTheWay, { ...largestOverlay, frames: 1 }, file.limits);
      const body = await file.render(operations, result, settings).catch(nameFault);
      freshBytes.add(body);
      return { body, type: mediaTypes[result] };
    },
  };
  const draw = () => file.pixels(operations).catch(nameFault);
  // Overlays are never drawn on, so one drawing serves all.
  const pixels = size.width * size.height <= cachedPixels ? once(draw) : draw;
  recipes.set(image, { largest: largerSize(largest, largestOverlay), pixels });
  return image;
}

function recordOf(image: Image, operation: string) {
  const found = typeof image === 'object' && image !== null ? recipes.get(image) : undefined;
  if (found) return found;
  throw new TypeError(
    `${operation}: takes a picture as the context of a call has it, and what is made of one`,
  );
}

function largerSize(one: FrameSize, other: FrameSize): FrameSize {
  return other.width * other.height > one.width * one.height ? other : one;
}

/** What a recipe runs with. */
interface Tools {
  text: LoadText;
  /** Every frame at another size: the one operation that each engine does in its own way. */
  resize(raster: Raster, size: Size): Raster | Promise<Raster>;
  /** Whether what a turn leaves empty is white, for a format that has no transparency. */
  opaque: boolean;
}

/** Runs a recipe on decoded pixels, which it may change in place; the same for both engines. */
export async function applyOperations(raster: Raster, operations: readonly Operation[], tools: Tools) {
  let current = raster;
  for (const operation of operations) current = await apply(current, operation, tools);
  return current;
}

async function apply(raster: Raster, operation: Operation, tools: Tools): Promise<Raster> {
  const { text, resize, opaque } = tools;
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
    case 'cover': {
      const { scaled, shrunk } = operation;
      const before = shrunk ? undefined : findFocus(raster, operation);
      const resized = await apply(raster, { kind: 'resize', ...scaled }, tools);
      return cropRaster(resized, { ...operation, ...(before ?? findFocus(resized, operation)) });
    }
    case 'crop':
      return cropRaster(raster, operation);
    case 'turn':
      return orientRaster(raster, operation.orientation);
    case 'rotate':
      return rotateRaster(raster, operation, opaque);
    case 'composite':
      blendOverlay(raster, await operation.overlay(), operation);
      return raster;
  }
}
