import { type BorderPlan, drawBorder, planBorder } from './border.js';
import {
  checkResult,
  checkStep,
  type EncodeOptions,
  type EngineName,
  type FrameSize,
  type Image,
  ImageError,
  type ImageLimits,
  type ResizeOptions,
  type ResultFormat,
  type Size,
  type SourceImageFormat,
} from './engine.js';
import type { Mark } from './mark.js';
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
import { blendOverlay, cropRaster, type Raster, type Rectangle } from './raster.js';
import { planResize } from './resize.js';
import { orientRaster, quarterTurns, type Rotation, rotatedSize, rotateRaster } from './rotate.js';
import type { LoadText } from './text/overlay.js';
import { drawMark } from './watermark.js';

/** One step of a picture's recipe; its numbers are validated and its sizes computed. */
export type Operation =
  | ({ kind: 'border' } & BorderPlan)
  | ({ kind: 'watermark' } & Mark)
  | { kind: 'resize'; width: number; height: number }
  | ({ kind: 'crop' } & Rectangle)
  | { kind: 'turn'; degrees: 90 | 180 | 270 }
  | ({ kind: 'rotate' } & Rotation)
  | { kind: 'composite'; overlay: () => Promise<Raster>; left: number; top: number };

/** A file that an engine has looked at, and how the engine runs recipes on it. */
interface OpenedFile {
  /** What it is called where it is one of several. */
  name?: string | undefined;
  engine: EngineName;
  format: SourceImageFormat;
  /** Frames of the file; `size` has those that the engine gives. */
  frames: number;
  bytes: Uint8Array;
  /** Upright. */
  size: FrameSize;
  limits: ImageLimits;
  /** Runs a recipe and returns the encoded bytes. */
  render(operations: readonly Operation[], format: ResultFormat, options: EncodeOptions): Promise<Uint8Array>;
  /** Runs a recipe on the first frame and returns its pixels. */
  pixels(operations: readonly Operation[]): Promise<Raster>;
}

interface Recipe {
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

/** What an image was recorded as, for another that it is laid over: the interface that plugins see shows nothing of it. */
const recipes = new WeakMap<Image, { largest: FrameSize; pixels: () => Promise<Raster> }>();

/** The pixels of an image's first frame. Throws a TypeError for what no engine has opened. */
export function pixelsOf(image: Image): Promise<Raster> {
  return recordOf(image, 'pixelsOf').pixels();
}

/**
 * An `Image` that writes its operations down and hands them to the engine when it is encoded. The size of the result, and
 * of each picture on the way to it, is known without a pixel decoded, so their limits are checked first.
 */
export function recordImage(file: OpenedFile): Image {
  let copy: Uint8Array | undefined;
  const copyOfBytes = () => {
    copy ??= new Uint8Array(file.bytes);
    return copy;
  };
  const { size } = file;
  return toImage(file, copyOfBytes, { operations: [], size, largest: size, largestOverlay: size });
}

function toImage(file: OpenedFile, copyOfBytes: () => Uint8Array, recipe: Recipe): Image {
  const { size, operations, largest, largestOverlay } = recipe;

  function then(operation: Operation, sides: Size, overlay = largestOverlay) {
    const next = { ...size, width: sides.width, height: sides.height };
    return toImage(file, copyOfBytes, {
      operations: [...operations, operation],
      size: next,
      largest: largerSize(largest, next),
      largestOverlay: overlay,
    });
  }

  function nameFault(error: unknown): never {
    throw file.name !== undefined && error instanceof ImageError ? error.of(file.name) : error;
  }

  const image: Image = {
    ...size,
    format: file.format,
    type: mediaTypes[file.format],
    get bytes() {
      return copyOfBytes();
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
      if (degrees === 180) return then({ kind: 'turn', degrees }, size);
      if (degrees === 90 || degrees === 270) {
        return then({ kind: 'turn', degrees }, { width: size.height, height: size.width });
      }
      const turned = rotatedSize(size, degrees);
      return then({ kind: 'rotate', degrees, ...turned }, turned);
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
      checkStep({ ...largest, frames }, file.limits);
      checkStep({ ...largestOverlay, frames: 1 }, file.limits);
      const body = await file.render(operations, result, settings).catch(nameFault);
      freshBytes.add(body);
      return { body, type: mediaTypes[result] };
    },
  };
  recipes.set(image, {
    largest: largerSize(largest, largestOverlay),
    pixels: record(() => file.pixels(operations).catch(nameFault), size.width * size.height <= cachedPixels),
  });
  return image;
}

/** Overlays are never drawn on, so one drawing serves all. */
function record(draw: () => Promise<Raster>, small: boolean): () => Promise<Raster> {
  let drawn: Promise<Raster> | undefined;
  return function drawOnce() {
    if (!small) return draw();
    drawn ??= draw();
    return drawn;
  };
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
