import { defaultFormats } from 'jimp';
import { ImageError, type ImageLimits } from '../engine.js';
import { boundedPng } from '../header/png-data.js';
import type { ImageHeader, SourceFormat } from '../header/probe.js';
import { firstWebpFrame } from '../header/webp-still.js';
import { mount, type Raster } from '../raster.js';
import { decodeFirstGifFrame } from './gif/decode.js';
import type { WebpCodec } from './webp-codec.js';

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

  const decoders: Record<SourceFormat, Decoder> = {
    jpeg(bytes, _header, limits) {
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
      return mount(raster, width, height, frame.left, frame.top, new Uint8Array(4));
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
