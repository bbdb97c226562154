import type Sharp from 'sharp';
import type { Sharp as Pipeline } from 'sharp';
import { codedError } from '../errors.js';
import type { BorderPlan } from './border.js';
import {
  type EncodeOptions,
  type ImageEngine,
  ImageError,
  type ImageHeader,
  type ImageLimits,
  type Orientation,
  type ResultFormat,
  type Size,
} from './engine.js';
import { checkHeader, uprightSize } from './header.js';
import { keepsAnimation } from './options.js';
import { choosePngStrategy, encodePng } from './png/encode.js';
import { dropOpaqueAlpha, type Raster } from './raster.js';
import { applyOperations, type Operation, recordImage } from './recipe.js';
import type { LoadText } from './text/overlay.js';

/**
 * Turns what a sharp pipeline rejects with into what it means, for a `catch`. All but a timeout is the picture's
 * fault: the pipelines are fixed, the bytes are not.
 */
export function sharpFault(error: unknown): never {
  const reason = error instanceof Error ? error.message : String(error);
  if (reason.includes('timeout:')) {
    throw codedError('helper_timeout', 'The image took too long to process.', { cause: error });
  }
  if (reason.includes('pixel limit')) {
    throw new ImageError('image_too_large', 'The image decodes to more pixels than its header says.', {
      cause: error,
    });
  }
  throw new ImageError('bad_image', 'The image cannot be decoded: its data is broken or cut off.', {
    cause: error,
  });
}

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

interface Decoding {
  bytes: Uint8Array;
  header: ImageHeader;
  limits: ImageLimits;
  /** Whole seconds. */
  timeoutSeconds: number;
}

/** A pipeline that decodes for this format and does the first of the operations on the way, and those that are left. */
function openPipeline(
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
  const shrinksOnLoad = header.format === 'jpg' && resize !== undefined;
  if (!header.cmyk && !shrinksOnLoad) image.pipelineColourspace('srgb');
  if (crop) image.extract({ left: crop.left, top: crop.top, width: crop.width, height: crop.height });
  if (resize) scaleTo(image, asStored(resize, header.orientation));
  turns[header.orientation](image);
  // A JPEG has nothing to see through, and sharp takes long to read a colour.
  const mayHaveAlpha = header.format !== 'jpg';
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
  if (first?.kind === 'border' && isPlain(first) && !isTiny(header)) {
    return { border: first, rest: operations.slice(1) };
  }
  if (animated) return { rest: operations };
  if (first?.kind === 'resize') return { resize: first, rest: operations.slice(1) };
  if (first?.kind !== 'crop' || header.orientation !== 1) return { rest: operations };
  if (second?.kind !== 'resize') return { crop: first, rest: operations.slice(1) };
  return { crop: first, resize: second, rest: operations.slice(2) };
}

/** Width and height before the picture is turned upright. */
function asStored({ width, height }: Size, orientation: Orientation) {
  return orientation > 4 ? { width: height, height: width } : { width, height };
}

/**
 * By the kernel of three lobes, sharp's own choice. Without `fastShrinkOnLoad` a JPEG is decoded at twice the size or more
 * that it is to have, so that the kernel still has something to choose from.
 */
function scaleTo(image: Pipeline, { width, height }: Size): Pipeline {
  return image.resize({ width, height, fit: 'fill', kernel: 'lanczos3', fastShrinkOnLoad: false });
}

function isAnimated(header: ImageHeader, format: ResultFormat): boolean {
  return header.frames > 1 && keepsAnimation('sharp', format);
}

function isTiny({ width, height, frames }: ImageHeader): boolean {
  return frames === 1 && width * height < ownBorderPixels;
}

/** Whether a border is no more than a larger canvas. */
function isPlain({ radius, inset }: BorderPlan): boolean {
  return radius === 0 && !inset;
}

function extend(image: Pipeline, { top, right, bottom, left, color }: BorderPlan): void {
  if (top + right + bottom + left > 0) image.extend({ top, right, bottom, left, background: color });
}

/** A pipeline over decoded pixels. */
function fromRaster(sharp: SharpModule, raster: Raster, timeoutSeconds: number): Pipeline {
  const { data, width, height, channels, frames } = raster;
  const still = { width, height: height * frames, channels };
  const raw = frames > 1 ? { ...still, pageHeight: height } : still;
  return sharp(data, { raw, limitInputPixels: false }).timeout({ seconds: timeoutSeconds });
}

/** Every frame at another size, each by itself. */
async function resizeFrames(
  sharp: SharpModule,
  raster: Raster,
  size: Size,
  timeoutSeconds: number,
): Promise<Raster> {
  const bytes = raster.width * raster.height * raster.channels;
  const resized: Uint8Array[] = [];
  for (let frame = 0; frame < raster.frames; frame++) {
    const data = raster.data.subarray(frame * bytes, (frame + 1) * bytes);
    const image = fromRaster(sharp, { ...raster, data, frames: 1 }, timeoutSeconds);
    resized.push((await toRaster(scaleTo(image, size))).data);
  }
  const [only] = resized;
  return { ...raster, ...size, data: resized.length === 1 && only ? only : Buffer.concat(resized) };
}

async function toRaster(image: Pipeline): Promise<Raster> {
  const { data, info } = await image.raw().toBuffer({ resolveWithObject: true }).catch(sharpFault);
  const { width, pages: frames = 1, channels } = info;
  return { data, width, height: info.height / frames, channels: channels as 3 | 4, frames };
}

interface Animation {
  /** Milliseconds of each frame. */
  delay?: number[] | undefined;
  /** 0 is for ever. */
  loop?: number | undefined;
  /** Of all frames. */
  pixels: number;
}

interface SharpEngineOptions {
  text: LoadText;
  /** Whole seconds that one native operation may run; it cannot be stopped from outside. */
  timeoutSeconds: number;
}

const loaders = ['Jpeg', 'Png', 'Webp', 'Nsgif'].map((name) => `VipsForeignLoad${name}Buffer`);
/**
 * Fixed Huffman tables halve the cost of a JPEG for some more bytes, up to 12 %; one step below the quality of sharp's
 * default, 80, takes them back for 0.1 to 0.3 dB. See test/bench.
 */
const jpegOptions = { quality: 79, chromaSubsampling: '4:2:0', optimiseCoding: false };
/**
 * Half the time of sharp's default, effort 4, for 4 % more bytes and 0.1 to 0.4 dB. Effort 1 saves another fifth, but
 * smooth pictures grow by 20 %.
 */
const webpOptions = { quality: 80, effort: 2 };
/**
 * Effort 1 is half the time of effort 2 for 2 % more bytes, still some 25 times a JPEG's; effort 0 is half of that again, and then a
 * WebP is as small. Quality 60 looks like the others' defaults, in about six tenths of a JPEG's bytes.
 */
const avifOptions = { quality: 60, effort: 1, chromaSubsampling: '4:2:0', bitdepth: 8 } as const;
/**
 * Pixels of all frames above which a GIF is made at effort 4: a third of the CPU of effort 7, sharp's default, which is 1.6 s a megapixel,
 * for 3 % more bytes and 2 dB. Below, a picture of few colours keeps each of them.
 */
const fastGifPixels = 2_000_000;
/** Decoded bytes of a drawing from which on a second pipeline packs them in less CPU than Node's zlib. */
const pipelineBytes = 700_000;

/**
 * The engine on libvips. `sharp` is handed in, so that nothing here fails where it cannot be loaded. Its settings hold
 * for the whole process and loading it in a worker resets them, so every worker calls this.
 */
export function createSharpEngine(
  sharp: SharpModule,
  { text, timeoutSeconds }: SharpEngineOptions,
): ImageEngine {
  sharp.cache(false);
  sharp.concurrency(1);
  // SVG, PDF, TIFF and the rest are parsers for hostile bytes that no helper needs.
  sharp.block({ operation: ['VipsForeignLoad'] });
  sharp.unblock({ operation: loaders });

  async function encode(
    raster: Raster,
    format: ResultFormat,
    quality: EncodeOptions,
    timing: Omit<Animation, 'pixels'>,
  ): Promise<Uint8Array> {
    if (format === 'png') return encodeStill(dropOpaqueAlpha(raster));
    const pixels = raster.width * raster.height * raster.frames;
    return encodeBy(fromRaster(sharp, raster, timeoutSeconds), format, quality, { ...timing, pixels });
  }

  /** What repeats itself is packed in the same way by libpng, faster than by Node's zlib once it is worth a pipeline. */
  function encodeStill(raster: Raster): Promise<Uint8Array> | Uint8Array {
    const strategy = choosePngStrategy(raster);
    if (strategy.packing !== 'thorough' || raster.data.length < pipelineBytes) {
      return encodePng(raster, strategy);
    }
    return toBytes(fromRaster(sharp, raster, timeoutSeconds).png());
  }

  function run(raster: Raster, operations: readonly Operation[], format: ResultFormat): Promise<Raster> {
    return applyOperations(raster, operations, {
      text,
      resize: (larger, size) => resizeFrames(sharp, larger, size, timeoutSeconds),
      opaque: format === 'jpg',
    });
  }

  /**
   * What libvips can do while it decodes goes through in one pass. All else is done in the decoded pixels: a watermark is
   * blended into its own rectangle of them.
   */
  async function render(
    source: Decoding,
    operations: readonly Operation[],
    format: ResultFormat,
    quality: EncodeOptions,
  ): Promise<Uint8Array> {
    const { image, rest } = openPipeline(sharp, source, operations, format);
    const { width, height, frames } = source.header;
    if (rest.length === 0 && format !== 'png' && !keepsOrientation(source, format)) {
      return encodeBy(image, format, quality, { pixels: width * height * frames });
    }
    const raster = await run(await toRaster(image), rest, format);
    const animated = isAnimated(source.header, format);
    const { delay, loop } = animated ? await sharp(source.bytes).metadata().catch(sharpFault) : {};
    return encode(raster, format, quality, { delay, loop });
  }

  return {
    name: 'sharp',
    async open(bytes, limits, { name, header = checkHeader(bytes, limits) } = {}) {
      const source = { bytes, header, limits, timeoutSeconds };
      return recordImage({
        name,
        bytes,
        limits,
        engine: 'sharp',
        format: header.format,
        frames: header.frames,
        size: { ...uprightSize(header), frames: header.frames },
        render: (operations, format, quality) => render(source, operations, format, quality),
        async pixels(operations) {
          const { image, rest } = openPipeline(sharp, source, operations, 'png');
          return run(await toRaster(image), rest, 'png');
        },
      });
    },
  };
}

/**
 * libvips writes the source's EXIF orientation into an AVIF even where metadata is dropped, and sharp has no way to remove it from a
 * picture that was turned by hand: decoded pixels carry none.
 */
function keepsOrientation({ header }: Decoding, format: ResultFormat): boolean {
  return format === 'avif' && header.orientation !== 1;
}

function encodeBy(
  image: Pipeline,
  format: Exclude<ResultFormat, 'png'>,
  quality: EncodeOptions,
  { delay, loop, pixels }: Animation,
): Promise<Uint8Array> {
  switch (format) {
    case 'jpg':
      return toBytes(image.jpeg({ ...jpegOptions, ...quality }));
    case 'webp':
      return toBytes(image.webp({ ...webpOptions, ...quality, delay, loop }));
    case 'gif':
      return toBytes(image.gif({ delay, loop, effort: pixels > fastGifPixels ? 4 : 7 }));
    case 'avif':
      return toBytes(image.avif({ ...avifOptions, ...quality }));
  }
}

/**
 * A copy, because `toBuffer` gives memory of libvips' own, which cannot be moved to another thread. `toUint8Array` would
 * make the same copy, but sharp 0.35.5 then frees the wrong pointer (`FreeCallback` in pipeline.cc) and keeps every
 * result for ever: it can go back when that is mended.
 */
async function toBytes(image: Pipeline): Promise<Uint8Array> {
  return new Uint8Array(await image.toBuffer().catch(sharpFault));
}
