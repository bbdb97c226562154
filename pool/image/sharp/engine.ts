import type Sharp from 'sharp';
import type { Sharp as Pipeline } from 'sharp';
import { applyOperations } from '../apply.js';
import type { BorderOptions, ImageEngine, ImageFormat, ImageLimits } from '../engine.js';
import { checkHeader, type ImageHeader, type Orientation, uprightSize } from '../header/probe.js';
import { type Operation, recordImage } from '../operation.js';
import { choosePngStrategy, encodePng } from '../png/encode.js';
import { dropOpaqueAlpha, type Raster } from '../raster.js';
import type { TextRenderer } from '../text/overlay.js';
import { sharpFault } from './fault.js';

export type SharpModule = typeof Sharp;

interface AnimationTiming {
  /** Milliseconds of each frame. */
  delay?: number[] | undefined;
  /** 0 is for ever. */
  loop?: number | undefined;
}

export interface SharpEngineOptions {
  text: TextRenderer;
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
 * Pixels below which a still picture's border is drawn in its decoded pixels: `extend` runs a pipeline for one pixel of the
 * background, 0.9 ms, and a second pass over the picture costs more than that from 0.15 megapixels on. Both give the same.
 */
const ownBorderPixels = 100_000;
/** Decoded bytes of a drawing from which on a second pipeline packs them in less CPU than Node's zlib. */
const pipelineBytes = 700_000;
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

  function decode(
    bytes: Uint8Array,
    header: ImageHeader,
    format: ImageFormat,
    limits: ImageLimits,
  ): Pipeline {
    const image = sharp(bytes, {
      pages: isAnimated(header, format) ? -1 : 1,
      limitInputPixels: limits.maxPixels,
      // A cut-off file is refused; what a camera wrote a little wrong is not.
      failOn: 'error',
    }).timeout({ seconds: timeoutSeconds });
    // Before anything is drawn, or sharp paints a purple border on a grey picture grey, and reads 16 bit with a
    // profile as if it were P3. CMYK alone finds its way by its own or a standard profile, and not from here.
    if (!header.cmyk) image.pipelineColourspace('srgb');
    turns[header.orientation](image);
    // A JPEG has nothing to see through, and sharp takes long to read a colour.
    const mayHaveAlpha = header.format !== 'jpeg';
    return format === 'jpg' && mayHaveAlpha ? image.flatten({ background: white }) : image;
  }

  async function encode(raster: Raster, format: ImageFormat, timing: AnimationTiming): Promise<Uint8Array> {
    if (format === 'png') return encodeStill(dropOpaqueAlpha(raster));
    const { data, width, height, channels, frames } = raster;
    const raw = { width, height: height * frames, channels, pageHeight: height };
    const image = sharp(data, { raw, limitInputPixels: false }).timeout({ seconds: timeoutSeconds });
    return toBytes(format === 'jpg' ? image.jpeg(jpegOptions) : image.webp({ ...webpOptions, ...timing }));
  }

  /** What repeats itself is packed in the same way by libpng, faster than by Node's zlib once it is worth a pipeline. */
  function encodeStill(raster: Raster): Promise<Uint8Array> | Uint8Array {
    const strategy = choosePngStrategy(raster);
    const { data, width, height, channels } = raster;
    if (strategy.packing !== 'thorough' || data.length < pipelineBytes) return encodePng(raster, strategy);
    const raw = { width, height, channels };
    return toBytes(sharp(data, { raw, limitInputPixels: false }).timeout({ seconds: timeoutSeconds }).png());
  }

  /** A border alone goes through in one pass; a watermark is blended into its own rectangle of the decoded pixels. */
  async function render(
    bytes: Uint8Array,
    header: ImageHeader,
    limits: ImageLimits,
    operations: readonly Operation[],
    format: ImageFormat,
  ): Promise<Uint8Array> {
    const image = decode(bytes, header, format, limits);
    const [first, ...rest] = operations;
    const leading = first?.kind === 'border' && !isTiny(header) ? first : undefined;
    if (leading) extend(image, leading);
    const steps = leading ? rest : operations;
    if (steps.length === 0 && format !== 'png') {
      return toBytes(format === 'jpg' ? image.jpeg(jpegOptions) : image.webp(webpOptions));
    }
    const raster = applyOperations(await toRaster(image), steps, text);
    const { delay, loop } = isAnimated(header, format) ? await sharp(bytes).metadata().catch(sharpFault) : {};
    return encode(raster, format, { delay, loop });
  }

  return {
    name: 'sharp',
    async open(bytes, limits) {
      const header = checkHeader(bytes, limits);
      const size = { ...uprightSize(header), frames: header.frames };
      return recordImage(size, limits, (operations, format) =>
        render(bytes, header, limits, operations, format),
      );
    },
  };
}

function isAnimated(header: ImageHeader, format: ImageFormat): boolean {
  return header.frames > 1 && format === 'webp';
}

function isTiny({ width, height, frames }: ImageHeader): boolean {
  return frames === 1 && width * height < ownBorderPixels;
}

function extend(image: Pipeline, { width, color }: BorderOptions): void {
  if (width > 0) image.extend({ top: width, right: width, bottom: width, left: width, background: color });
}

async function toRaster(image: Pipeline): Promise<Raster> {
  const { data, info } = await image.raw().toBuffer({ resolveWithObject: true }).catch(sharpFault);
  const { width, pages: frames = 1, channels } = info;
  return { data, width, height: info.height / frames, channels: channels as 3 | 4, frames };
}

/**
 * A copy, because `toBuffer` gives memory of libvips' own, which cannot be moved to another thread. `toUint8Array` would
 * make the same copy, but sharp 0.35.5 then frees the wrong pointer (`FreeCallback` in pipeline.cc) and keeps every
 * result for ever: it can go back when that is mended.
 */
async function toBytes(image: Pipeline): Promise<Uint8Array> {
  return new Uint8Array(await image.toBuffer().catch(sharpFault));
}
