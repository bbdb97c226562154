import type Sharp from 'sharp';
import type { Metadata, Sharp as Pipeline } from 'sharp';
import { codedError } from '../errors.js';
import {
  type EncodeOptions,
  type ImageEngine,
  ImageError,
  type ImageHeader,
  type ImageLimits,
  type Orientation,
  type ResultFormat,
  type Size,
  undecodable,
} from './engine.js';
import { checkHeader, swapSides } from './header.js';
import { encodePng } from './png/encode.js';
import { choosePngStrategy } from './png/strategy.js';
import { dropOpaqueAlpha, type Raster } from './raster.js';
import { applyOperations, type Operation, recordImage, type Steps } from './recorded-image.js';
import type { LoadText } from './text/overlay.js';

/** Throws what a pipeline's rejection means. All but a timeout is the picture's fault: the pipelines are fixed. */
export function sharpFault(error: unknown): never {
  const reason = error instanceof Error ? error.message : String(error);
  if (reason.includes('timeout:')) {
    throw codedError('helper_timeout', 'The image took too long to process.', { cause: error });
  }
  if (reason.includes('pixel limit')) {
    const message = 'The image decodes to more pixels than its header says.';
    throw new ImageError('image_too_large', message, { cause: error });
  }
  throw undecodable(error);
}

/** Pixels of a still picture below which its border is drawn on it: `extend` costs 0.9 ms for its background. */
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

/** What libvips is to be told: of an AVIF, libheif has turned the picture upright before. */
function asDecoded(header: ImageHeader): ImageHeader {
  if (header.format !== 'avif') return header;
  return { ...header, ...swapSides(header, header.orientation), orientation: 1 };
}

interface Source {
  bytes: Uint8Array;
  header: ImageHeader;
  limits: ImageLimits;
}

type Leading = { [K in 'crop' | 'resize' | 'border']?: Extract<Operation, { kind: K }> } & {
  rest: readonly Operation[];
};

/**
 * What libvips does while it decodes: a crop and a resize of one frame, or a border. A crop comes before the turn
 * upright, so only of what is stored upright. Animations are one tall picture there, whose frames would run into each
 * other.
 */
function splitLeading(operations: readonly Operation[], header: ImageHeader, animated: boolean): Leading {
  const [first, second] = operations;
  const isTiny = header.frames === 1 && header.width * header.height < ownBorderPixels;
  // No more than a larger canvas.
  const isPlain = first?.kind === 'border' && first.radius === 0 && !first.inset;
  if (isPlain && !isTiny) return { border: first, rest: operations.slice(1) };
  if (animated) return { rest: operations };
  if (first?.kind === 'resize') return { resize: first, rest: operations.slice(1) };
  // The picture is then of the size that it is cut from.
  if (first?.kind === 'cover' && first.shrunk) {
    return { resize: { kind: 'resize', ...first.scaled }, rest: operations };
  }
  if (first?.kind !== 'crop' || header.orientation !== 1) return { rest: operations };
  if (second?.kind !== 'resize') return { crop: first, rest: operations.slice(1) };
  return { crop: first, resize: second, rest: operations.slice(2) };
}

/** Without `fastShrinkOnLoad` a JPEG is decoded at twice its new size or more, which leaves the kernel a choice. */
function scaleTo(image: Pipeline, { width, height }: Size): Pipeline {
  return image.resize({ width, height, fit: 'fill', kernel: 'lanczos3', fastShrinkOnLoad: false });
}

async function toRaster(image: Pipeline): Promise<Raster> {
  const { data, info } = await image.raw().toBuffer({ resolveWithObject: true }).catch(sharpFault);
  const { width, pages: frames = 1, channels } = info;
  return { data, width, height: info.height / frames, channels: channels as 3 | 4, frames };
}

/** What an animation keeps of its source. */
type Timing = Pick<Metadata, 'delay' | 'loop'>;

const loaders = ['Jpeg', 'Png', 'Webp', 'Nsgif', 'Heif'].map((name) => `VipsForeignLoad${name}Buffer`);
/** Fixed Huffman tables halve a JPEG's cost for up to 12 % more bytes; quality 79 for sharp's 80 saves them again. */
const jpegOptions = { quality: 79, chromaSubsampling: '4:2:0', optimiseCoding: false };
/** Half the time of effort 4 for 4 % more bytes; at effort 1 smooth pictures grow by 20 %. */
const webpOptions = { quality: 80, effort: 2 };
/** Half the time of effort 2 for 2 % more bytes; at effort 0 a WebP is as small. Quality 60 looks like others' 80. */
const avifOptions = { quality: 60, effort: 1, chromaSubsampling: '4:2:0', bitdepth: 8 } as const;
/** Pixels of all frames above which a GIF is made at effort 4: a third of the CPU of 7, for 3 % more bytes and 2 dB. */
const fastGifPixels = 2_000_000;
/** Decoded bytes of a drawing from which on a second pipeline packs them in less CPU than Node's zlib. */
const pipelineBytes = 700_000;

/**
 * The engine on libvips. `sharp` is handed in, so that nothing here fails where it cannot be loaded; its settings are
 * the process's, but loading it in a worker resets them. A native operation, which nothing can stop, may run
 * `timeoutSeconds`.
 */
export function createSharpEngine(
  sharp: typeof Sharp,
  { text, timeoutSeconds }: { text: LoadText; timeoutSeconds: number },
): ImageEngine {
  sharp.cache(false);
  sharp.concurrency(1);
  // SVG, PDF, TIFF and the rest are parsers for hostile bytes that no helper needs.
  sharp.block({ operation: ['VipsForeignLoad'] });
  sharp.unblock({ operation: loaders });

  /** A pipeline that decodes for this format and does the first operations on the way, and those that are left. */
  function openPipeline(
    { bytes, header, limits }: Source,
    operations: readonly Operation[],
    format: ResultFormat,
    animated: boolean,
  ) {
    const image = sharp(bytes, {
      pages: animated ? -1 : 1,
      limitInputPixels: limits.maxPixels,
      // A cut-off file is refused; what a camera wrote a little wrong is not.
      failOn: 'error',
    }).timeout({ seconds: timeoutSeconds });
    const { crop, resize, border, rest } = splitLeading(operations, header, animated);
    // Else sharp paints a purple border on a grey picture grey, and reads 16 bit with a profile as P3. CMYK goes by its
    // own profile, and a JPEG that is shrunk is decoded at a fraction of its size only without this.
    const shrinksOnLoad = header.format === 'jpg' && resize !== undefined;
    if (!header.cmyk && !shrinksOnLoad) image.pipelineColourspace('srgb');
    if (crop) image.extract({ left: crop.left, top: crop.top, width: crop.width, height: crop.height });
    // Before the picture is turned upright.
    if (resize) scaleTo(image, swapSides(resize, header.orientation));
    turns[header.orientation](image);
    // A JPEG has nothing to see through, and sharp takes long to read a colour.
    if (format === 'jpg' && header.format !== 'jpg') image.flatten({ background: white });
    if (border && border.top + border.right + border.bottom + border.left > 0) {
      const { top, right, bottom, left, color } = border;
      image.extend({ top, right, bottom, left, background: color });
    }
    return { image, rest };
  }

  /** A pipeline over decoded pixels. */
  function fromRaster({ data, width, height, channels, frames }: Raster): Pipeline {
    const still = { width, height: height * frames, channels };
    const raw = frames > 1 ? { ...still, pageHeight: height } : still;
    return sharp(data, { raw, limitInputPixels: false }).timeout({ seconds: timeoutSeconds });
  }

  /** Every frame at another size, each by itself. */
  async function resizeFrames(raster: Raster, size: Size): Promise<Raster> {
    const bytes = raster.width * raster.height * raster.channels;
    const resized: Uint8Array[] = [];
    for (let frame = 0; frame < raster.frames; frame++) {
      const data = raster.data.subarray(frame * bytes, (frame + 1) * bytes);
      resized.push((await toRaster(scaleTo(fromRaster({ ...raster, data, frames: 1 }), size))).data);
    }
    const [only] = resized;
    return { ...raster, ...size, data: resized.length === 1 && only ? only : Buffer.concat(resized) };
  }

  /** libpng packs repeats in the same way, faster than Node's zlib once that is worth a pipeline. */
  function encodeStill(raster: Raster): Promise<Uint8Array> | Uint8Array {
    const strategy = choosePngStrategy(raster);
    if (strategy.packing !== 'thorough' || raster.data.length < pipelineBytes) {
      return encodePng(raster, strategy);
    }
    return toBytes(fromRaster(raster).png());
  }

  function run(raster: Raster, operations: readonly Operation[], opaque: boolean): Promise<Raster> {
    return applyOperations(raster, operations, { text, resize: resizeFrames, opaque });
  }

  /** Runs all steps in the decoded pixels, but for what libvips has done while it decoded. */
  async function draw(
    { image, rest }: ReturnType<typeof openPipeline>,
    later: Steps,
    opaque: boolean,
  ): Promise<Raster> {
    let raster = await run(await toRaster(image), rest, opaque && later.length === 0);
    for (const [at, operations] of later.entries()) {
      const isOpaque = opaque && at === later.length - 1;
      raster = await run(await betweenSteps(raster, isOpaque), operations, isOpaque);
    }
    return raster;
  }

  /** As it would be in a PNG, and as a JPEG lays that on white. */
  async function betweenSteps(drawn: Raster, opaque: boolean): Promise<Raster> {
    const raster = dropOpaqueAlpha(drawn);
    if (!opaque || raster.channels === 3) return raster;
    return toRaster(fromRaster(raster).flatten({ background: white }));
  }

  /** What libvips can do while it decodes goes through in one pass. All else is done in the decoded pixels. */
  async function render(
    source: Source,
    [first = [], ...later]: Steps,
    { format, settings, frames }: { format: ResultFormat; settings: EncodeOptions; frames: number },
  ): Promise<Uint8Array> {
    const { bytes, header } = source;
    const animated = frames > 1;
    const opened = openPipeline(source, first, later.length === 0 ? format : 'png', animated);
    // libvips writes the source's orientation into an AVIF, even once it was turned by hand; decoded pixels carry none.
    const keepsOrientation = format === 'avif' && header.orientation !== 1;
    const isWhole = opened.rest.length + later.length === 0;
    if (isWhole && format !== 'png' && !keepsOrientation) {
      return encodeBy(opened.image, format, header.width * header.height * header.frames, settings);
    }
    const opaque = format === 'jpg';
    const [resize, ...others] = later.at(-1) ?? [];
    if (resize?.kind === 'resize' && others.length === 0 && format !== 'png' && !animated) {
      const drawn = await betweenSteps(await draw(opened, later.slice(0, -1), false), opaque);
      return encodeBy(scaleTo(fromRaster(drawn), resize), format, resize.width * resize.height, settings);
    }
    const raster = await draw(opened, later, opaque);
    if (format === 'png') return encodeStill(dropOpaqueAlpha(raster));
    const timing: Timing = animated ? await sharp(bytes).metadata().catch(sharpFault) : {};
    const pixels = raster.width * raster.height * raster.frames;
    return encodeBy(fromRaster(raster), format, pixels, settings, timing);
  }

  return {
    name: 'sharp',
    async open(bytes, limits, { name, header: stored = checkHeader(bytes, limits) } = {}) {
      const header = asDecoded(stored);
      const source = { bytes, header, limits };
      return recordImage({
        name,
        bytes,
        limits,
        engine: 'sharp',
        ...stored,
        size: { ...swapSides(header, header.orientation), frames: header.frames },
        render: (steps, result) => render(source, steps, result),
        pixels: ([first = [], ...later]) => draw(openPipeline(source, first, 'png', false), later, false),
      });
    },
  };
}

function encodeBy(
  image: Pipeline,
  format: Exclude<ResultFormat, 'png'>,
  /** Of all frames. */
  pixels: number,
  quality: EncodeOptions,
  { delay, loop }: Timing = {},
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
 * A copy, because `toBuffer` gives memory of libvips' own, which cannot be moved to another thread; with `toUint8Array`
 * sharp 0.35.5 frees the wrong pointer (`FreeCallback` in pipeline.cc) and keeps every result for ever.
 */
async function toBytes(image: Pipeline): Promise<Uint8Array> {
  return new Uint8Array(await image.toBuffer().catch(sharpFault));
}
