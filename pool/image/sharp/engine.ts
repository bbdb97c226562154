import type { Sharp as Pipeline } from 'sharp';
import { applyOperations } from '../apply.js';
import type { EncodeOptions, ImageEngine, ResultFormat } from '../engine.js';
import { productFormat } from '../header/header.js';
import { checkHeader, uprightSize } from '../header/probe.js';
import { recordImage } from '../operation.js';
import { choosePngStrategy, encodePng } from '../png/encode.js';
import { dropOpaqueAlpha, type Raster } from '../raster.js';
import type { Operation } from '../recipe.js';
import type { LoadText } from '../text/overlay.js';
import { sharpFault } from './fault.js';
import {
  type Decoding,
  fromRaster,
  isAnimated,
  openPipeline,
  resizeFrames,
  type SharpModule,
  toRaster,
} from './pipeline.js';

export type { SharpModule } from './pipeline.js';

interface Animation {
  /** Milliseconds of each frame. */
  delay?: number[] | undefined;
  /** 0 is for ever. */
  loop?: number | undefined;
  /** Of all frames. */
  pixels: number;
}

export interface SharpEngineOptions {
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
    return pack(fromRaster(sharp, raster, timeoutSeconds), format, quality, { ...timing, pixels });
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
      return pack(image, format, quality, { pixels: width * height * frames });
    }
    const raster = await run(await toRaster(image), rest, format);
    const animated = isAnimated(source.header, format);
    const { delay, loop } = animated ? await sharp(source.bytes).metadata().catch(sharpFault) : {};
    return encode(raster, format, quality, { delay, loop });
  }

  return {
    name: 'sharp',
    async open(bytes, limits, name) {
      const header = checkHeader(bytes, limits);
      const source = { bytes, header, limits, timeoutSeconds };
      return recordImage({
        name,
        bytes,
        limits,
        engine: 'sharp',
        format: productFormat(header.format),
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

function pack(
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
