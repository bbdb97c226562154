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
  type OutputFormat,
  type ResizeOptions,
  type ResultFormat,
  type Size,
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
import { blendOverlay, cropRaster, type Raster, type Rectangle, withAlpha } from './raster.js';
import { planResize } from './resize.js';
import { orientRaster, quarterTurns, type Rotation, rotatedSize, rotateRaster } from './rotate.js';
import type { LoadText } from './text/overlay.js';
import { drawMark, type Mark } from './watermark.js';

/** One operation on a picture; its numbers are validated and its sizes computed. */
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

/** A file that an engine has looked at, and how the engine runs operations on it. */
interface OpenedFile extends Pick<ImageHeader, 'format' | 'frames' | 'orientation' | 'alpha'> {
  /** What it is called where it is one of several. */
  name?: string | undefined;
  engine: EngineName;
  bytes: Uint8Array;
  /** Upright, with the frames that the engine gives. */
  size: FrameSize;
  limits: ImageLimits;
  /** Runs steps, of at least one list, on so many frames and returns the encoded bytes. */
  render(
    steps: Steps,
    result: { format: ResultFormat; settings: EncodeOptions; frames: number },
  ): Promise<Uint8Array>;
  /** Runs steps on the first frame and returns its pixels. */
  pixels(steps: Steps): Promise<Raster>;
}

/** The operations of each step of a call: each runs on what the one before it would have written as a PNG. */
export type Steps = readonly (readonly Operation[])[];

interface Recording {
  /** With the copy of its bytes that was made for plugins, once there is one. */
  file: OpenedFile & { copy?: Uint8Array };
  /** Where the picture is that of a step: how it is encoded, and what was recorded before. */
  step?: StepMode;
  before: Steps;
  operations: readonly Operation[];
  size: FrameSize;
  /** The largest picture on the way so far, and the largest on the way of all that was laid over it. */
  largest: FrameSize;
  largestOverlay: FrameSize;
}

/** How a step of a call gets its picture. */
interface StepMode {
  /** Whether `encode` runs nothing, so that the next step goes on with what was recorded. */
  records: boolean;
  /** Set by a handler that reads bytes that were not made: it needs a file. */
  wantsBytes?: true;
}

/** What a handler has encoded, in a step that records. */
interface Recorded {
  recording: Recording;
  format: OutputFormat;
  options: EncodeOptions;
}

/** By what `encode` gave. */
const recorded = new WeakMap<object, Recorded>();

/** Encoded pictures, which only their handler has: their memory may be moved to another thread. */
export const freshBytes = new WeakSet<Uint8Array>();

/** The most pixels that handlers get, and up to which a drawn overlay is cached: a logo may be laid many times. */
const cachedPixels = 1_000_000;

/** What an image was recorded as, for another that it is laid over; hidden from plugins. */
const recordings = new WeakMap<
  Image,
  { recording: Recording; largest: FrameSize; pixels: () => Promise<Raster> }
>();

/** The pixels of an image's first frame. Throws a TypeError for what no engine has opened. */
export function pixelsOf(image: Image): Promise<Raster> {
  return recordOf(image, 'pixelsOf').pixels();
}

/** An `Image` that records its operations and hands them to the engine when it is encoded, its sizes checked. */
export function recordImage(file: OpenedFile): Image {
  const { size } = file;
  return toImage({
    file: { ...file },
    before: [],
    operations: [],
    size,
    largest: size,
    largestOverlay: size,
  });
}

/** The same picture for a step of a call. What it encodes is a PNG, or with `records` nothing: `afterStep` tells what is to be. */
export function forStep(image: Image, records: boolean) {
  const step: StepMode = { records };
  return { image: toImage({ ...recordOf(image, 'forStep').recording, step }), step };
}

/**
 * The picture that a step's handler has answered with, and how it is to be encoded; undefined where its answer was not recorded.
 * `keepsFrames`: an animation stays one.
 */
export function afterStep(answer: unknown, keepsFrames: boolean) {
  const found = typeof answer === 'object' && answer !== null ? recorded.get(answer) : undefined;
  if (!found) return undefined;
  const { recording, ...wanted } = found;
  const { step: _, before, operations, size, ...kept } = recording;
  const frames = keepsFrames ? size.frames : 1;
  const next = { ...kept, before: [...before, operations], operations: [], size: { ...size, frames } };
  return { image: toImage(next), ...wanted };
}

/** Where a picture was encoded only in name. */
function notMade(step: StepMode): never {
  step.wantsBytes = true;
  throw new Error('a step of several is called again with bytes, where it wants them');
}

function toImage(recording: Recording): Image {
  const { file, step, before, size, operations, largest, largestOverlay } = recording;
  const steps = operations.length > 0 || before.length === 0 ? [...before, operations] : before;

  function then(operation: Operation, { width, height }: Size, overlay = largestOverlay, most: Size = size) {
    const next = { ...size, width, height };
    const onTheWay = [next, { ...size, ...most }].reduce(largerSize, largest);
    const all = { operations: [...operations, operation], size: next, largest: onTheWay };
    return toImage({ ...recording, ...all, largestOverlay: overlay });
  }

  function nameFault(error: unknown): never {
    throw file.name !== undefined && error instanceof ImageError ? error.of(file.name) : error;
  }

  function checkOnTheWay(frames: number): void {
    const onTheWay = 'A picture on the way to the result';
    checkSize(onTheWay, { ...largest, frames }, file.limits);
    checkSize(onTheWay, { ...largestOverlay, frames: 1 }, file.limits);
  }

  const seen = before.length > 0 ? 'png' : file.format;
  const image: Image = {
    ...size,
    format: seen,
    type: mediaTypes[seen],
    get file() {
      if (step && before.length > 0) notMade(step);
      const { bytes, frames, orientation, alpha: hasAlpha } = file;
      return { size: bytes.byteLength, frames, orientation, hasAlpha };
    },
    get bytes() {
      if (step && before.length > 0) notMade(step);
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
        const shrunk = seen === 'jpg' && width <= size.width && height <= size.height;
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
    async pixels() {
      if (size.width * size.height > cachedPixels) {
        throw new RangeError(`pixels: gives at most ${cachedPixels} pixels: resize the picture first`);
      }
      checkOnTheWay(1);
      const { data, width, height } = withAlpha(await pixels());
      return { data: new Uint8Array(data), width, height };
    },
    async encode(format, options = {}) {
      const checked = validateEncode(format, options, file);
      if (step?.records) {
        const type = mediaTypes[checked.result];
        const encoded = {
          get body() {
            return notMade(step);
          },
          type,
        };
        recorded.set(encoded, { recording, format, options });
        return encoded;
      }
      const { result, settings } = step ? { result: 'png' as const, settings: {} } : checked;
      const frames = keepsAnimation(file.engine, result) ? size.frames : 1;
      checkResult({ ...size, frames }, result, file.limits);
      checkOnTheWay(frames);
      const body = await file.render(steps, { format: result, settings, frames }).catch(nameFault);
      freshBytes.add(body);
      return { body, type: mediaTypes[result] };
    },
  };
  const draw = () => file.pixels(steps).catch(nameFault);
  // Overlays are never drawn on, so one drawing serves all.
  const pixels = size.width * size.height <= cachedPixels ? once(draw) : draw;
  recordings.set(image, { recording, largest: largerSize(largest, largestOverlay), pixels });
  return image;
}

function recordOf(image: Image, operation: string) {
  const found = typeof image === 'object' && image !== null ? recordings.get(image) : undefined;
  if (found) return found;
  throw new TypeError(
    `${operation}: takes a picture as the context of a call has it, and what is made of one`,
  );
}

function largerSize(one: FrameSize, other: FrameSize): FrameSize {
  return other.width * other.height > one.width * one.height ? other : one;
}

/** What operations run with. */
interface Tools {
  text: LoadText;
  /** Every frame at another size: the one operation that each engine does in its own way. */
  resize(raster: Raster, size: Size): Raster | Promise<Raster>;
  /** Whether what a turn leaves empty is white, for a format that has no transparency. */
  opaque: boolean;
}

/** Runs operations on decoded pixels, which it may change in place; the same for both engines. */
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
