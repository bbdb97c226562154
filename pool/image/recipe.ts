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
  type ImageHeader,
  type ImageLimits,
  type Orientation,
  type ResizeOptions,
  type ResultFormat,
  type Size,
} from './engine.js';
import {
  keepsAnimation,
  mediaTypes,
  validateBorder,
  validateComposite,
  validateCrop,
  validateEncode,
  validateMark,
  validateResize,
  validateRotate,
} from './options.js';
import { blendOverlay, cropRaster, type Raster, type Rectangle, withAlpha } from './raster.js';
import { planResize } from './resize.js';
import { orientRaster, quarterTurns, type Rotation, rotatedSize, rotateRaster } from './rotate.js';
import type { LoadText } from './text/overlay.js';
import { drawMark, type Mark } from './watermark.js';

/** One step of a picture's recipe; its numbers are validated and its sizes computed. */
export type Operation =
  | ({ kind: 'border' } & BorderPlan)
  | ({ kind: 'watermark' } & Mark)
  | { kind: 'resize'; width: number; height: number }
  | ({ kind: 'crop' } & Rectangle)
  | { kind: 'turn'; orientation: Orientation }
  | ({ kind: 'rotate' } & Rotation)
  | { kind: 'composite'; overlay: () => Promise<Raster>; left: number; top: number };

/** A file that an engine has looked at, and how the engine runs recipes on it. */
interface OpenedFile extends Pick<ImageHeader, 'format' | 'frames' | 'orientation' | 'alpha'> {
  /** What it is called where it is one of several. */
  name?: string | undefined;
  engine: EngineName;
  bytes: Uint8Array;
  /** Upright, with the frames that the engine gives. */
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

/** The most pixels that handlers get, and up to which a drawn overlay is cached: a logo may be laid many times. */
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

  function then(operation: Operation, { width, height }: Size, overlay = largestOverlay) {
    const next = { ...size, width, height };
    const all = { operations: [...operations, operation], size: next, largest: largerSize(largest, next) };
    return toImage({ ...recipe, ...all, largestOverlay: overlay });
  }

  function nameFault(error: unknown): never {
    throw file.name !== undefined && error instanceof ImageError ? error.of(file.name) : error;
  }

  function checkOnTheWay(frames: number): void {
    const onTheWay = 'A picture on the way to the result';
    checkSize(onTheWay, { ...largest, frames }, file.limits);
    checkSize(onTheWay, { ...largestOverlay, frames: 1 }, file.limits);
  }

  const image: Image = {
    ...size,
    format: file.format,
    type: mediaTypes[file.format],
    file: {
      size: file.bytes.byteLength,
      frames: file.frames,
      orientation: file.orientation,
      hasAlpha: file.alpha,
    },
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
      const { width, height, crop } = planResize(size, validateResize(options));
      const resized = then({ kind: 'resize', width, height }, { width, height });
      return crop ? resized.crop(crop) : resized;
    },
    crop(options) {
      const rectangle = validateCrop(options, size);
      return then({ kind: 'crop', ...rectangle }, rectangle);
    },
    rotate(angle) {
      const degrees = validateRotate(angle);
      if (degrees === 0) return image;
      const turned = rotatedSize(size, degrees);
      const orientation = quarterTurns[degrees];
      if (orientation) return then({ kind: 'turn', orientation }, turned);
      return then({ kind: 'rotate', degrees, ...turned }, turned);
    },
    composite(other, options = {}) {
      const overlay = recordOf(other, 'composite');
      const place = validateComposite(options);
      const operation = { kind: 'composite', overlay: overlay.pixels, ...place } as const;
      return then(operation, size, largerSize(largestOverlay, overlay.largest));
    },
    async pixels() {
      if (size.width * size.height > cachedPixels) {
        throw new RangeError(`pixels: gives at most ${cachedPixels} pixels: resize the picture first`);
      }
      checkOnTheWay(1);
      const { data, width, height } = withAlpha(await pixels());
      return { data: new Uint8Array(data), width, height };
    },
    async encode(format, options = {}) {
      const { result, settings } = validateEncode(format, options, file);
      const frames = keepsAnimation(file.engine, result) ? size.frames : 1;
      checkResult({ ...size, frames }, result, file.limits);
      checkOnTheWay(frames);
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
      return orientRaster(raster, operation.orientation);
    case 'rotate':
      return rotateRaster(raster, operation, opaque);
    case 'composite':
      blendOverlay(raster, await operation.overlay(), operation);
      return raster;
  }
}
