import { inflateSync } from 'node:zlib';
import { defaultFormats } from 'jimp';
import {
  type EncodeOptions,
  type ImageEngine,
  ImageError,
  type ImageHeader,
  type ImageLimits,
  type ResultFormat,
  type SourceImageFormat,
} from './engine.js';
import { checkHeader, hasText, uprightSize } from './header.js';
import { decodeFirstGifFrame } from './jimp-gif.js';
import { createWebpCodec, firstWebpFrame, type WebpCodec } from './jimp-webp.js';
import { cannotEncode } from './options.js';
import { encodePng } from './png/encode.js';
import { dropOpaqueAlpha, flattenRaster, placeOnCanvas, type Raster } from './raster.js';
import { applyOperations, type Operation, recordImage } from './recipe.js';
import { resampleRaster } from './resize.js';
import { orientRaster } from './rotate.js';
import type { LoadText } from './text/overlay.js';

const jpegQuality = 80;

type Encoder = (raster: Raster, options: EncodeOptions) => Uint8Array | Promise<Uint8Array>;

/**
 * The engine for where sharp cannot be loaded: Jimp's codecs in JavaScript, and WebAssembly for WebP. It gives the
 * first frame of an animation, takes pixel values for sRGB whatever profile is embedded, and does not subsample
 * the colours of a JPEG; in all else it is as the other, only slower.
 */
export async function createJimpEngine({ text }: { text: LoadText }): Promise<ImageEngine> {
  const webp = await createWebpCodec();
  const decode = createJimpDecoder(webp);
  const jpeg = jimpCodec('image/jpeg');

  const encoders: { [F in ResultFormat]?: Encoder } = {
    png: (raster) => encodePng(dropOpaqueAlpha(raster)),
    jpg: (raster, options) => new Uint8Array(jpeg.encode(raster, { quality: jpegQuality, ...options })),
    webp: (raster, options) => webp.encode(raster, options),
  };

  return {
    name: 'jimp',
    async open(bytes, limits, { name, header = checkHeader(bytes, limits) } = {}) {
      async function run(operations: readonly Operation[], opaque: boolean): Promise<Raster> {
        const raster = orientRaster(await decode(bytes, header, limits), header.orientation);
        if (opaque) flattenRaster(raster);
        return applyOperations(raster, operations, { text, resize: resampleRaster, opaque });
      }
      return recordImage({
        name,
        bytes,
        limits,
        engine: 'jimp',
        format: header.format,
        frames: header.frames,
        size: { ...uprightSize(header), frames: 1 },
        async render(operations, format, options) {
          const encode = encoders[format];
          if (!encode) throw new TypeError(cannotEncode('jimp', format));
          return encode(await run(operations, format === 'jpg'), options);
        },
        pixels: (operations) => run(operations, false),
      });
    },
  };
}

const interlaceAt = 28;

/**
 * The file up to its end chunk, for a decoder that stumbles over what follows. Throws where the pixels of an
 * interlaced picture unpack to more than its header says: pngjs inflates those without a bound, and 10 MB of zeros
 * packed well are 10 GB. Own code because no decoder that is at hand has such a bound.
 */
export function boundedPng(bytes: Uint8Array): Uint8Array {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const packed: Uint8Array[] = [];
  let at = 8;
  while (at + 12 <= bytes.byteLength) {
    const length = view.getUint32(at);
    if (hasText(view, at + 4, 'IDAT')) packed.push(bytes.subarray(at + 8, at + 8 + length));
    at += 12 + length;
    if (hasText(view, at - length - 8, 'IEND')) break;
  }
  if (view.getUint8(interlaceAt) !== 0) {
    inflateSync(Buffer.concat(packed), { maxOutputLength: interlacedBytes(view) });
  }
  return bytes.subarray(0, at);
}

/** The most that seven passes take: 8 bytes a pixel, each row with its filter byte, some rows empty. */
function interlacedBytes(view: DataView): number {
  const width = view.getUint32(16);
  const height = view.getUint32(20);
  return width * height * 8 + height * 4 + 16;
}

type Decoder = (bytes: Uint8Array, header: ImageHeader, limits: ImageLimits) => Raster | Promise<Raster>;

interface Bitmap {
  data: Uint8Array;
  width: number;
  height: number;
}

/**
 * Jimp's own codec for a media type. `Jimp.fromBuffer` would guess the type again and turn the picture by another
 * reading of its EXIF than ours.
 */
export function jimpCodec(mediaType: 'image/jpeg' | 'image/png') {
  const codec = defaultFormats.map((make) => make()).find(({ mime }) => mime === mediaType);
  if (!codec) throw new Error(`Jimp has no codec for ${mediaType}`);
  return codec as unknown as {
    decode(bytes: Buffer, options?: object): Bitmap;
    encode(bitmap: Bitmap, options?: object): Buffer;
  };
}

/** Decodes the first frame to RGBA as stored. Throws an `ImageError` `bad_image` whatever the codecs throw. */
export function createJimpDecoder(webp: WebpCodec): Decoder {
  const jpeg = jimpCodec('image/jpeg');
  const png = jimpCodec('image/png');

  const decoders: Record<SourceImageFormat, Decoder> = {
    jpg(bytes, _header, limits) {
      // A second frame header may promise another size than the one that was checked.
      const bounds = { maxResolutionInMP: limits.maxPixels / 1e6, maxMemoryUsageInMB: 2048 };
      return toRaster(jpeg.decode(asBuffer(bytes), { ...bounds, tolerantDecoding: false }));
    },
    png: (bytes) => toRaster(png.decode(asBuffer(boundedPng(bytes)))),
    gif: (bytes, { width, height }) => decodeFirstGifFrame(bytes, width, height),
    async webp(bytes, { width, height }) {
      const frame = firstWebpFrame(bytes);
      if (!frame) return webp.decode(bytes);
      const raster = await webp.decode(frame.bytes);
      if (frame.left + raster.width > width || frame.top + raster.height > height) {
        throw new Error('A frame lies outside the canvas.');
      }
      return placeOnCanvas(raster, { width, height }, frame, new Uint8Array(4));
    },
  };

  return async function decodeFirstFrame(bytes, header, limits) {
    try {
      const raster = await decoders[header.format](bytes, header, limits);
      if (raster.width === header.width && raster.height === header.height) return raster;
      throw new Error('The picture is not of the size that its header says.');
    } catch (cause) {
      const message = 'The image cannot be decoded: its data is broken or cut off.';
      throw new ImageError('bad_image', message, { cause });
    }
  };
}

function toRaster({ data, width, height }: Bitmap): Raster {
  return { data, width, height, channels: 4, frames: 1 };
}

function asBuffer(bytes: Uint8Array): Buffer {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}
