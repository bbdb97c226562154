import { inflateSync } from 'node:zlib';
import decodeWebp, { init as startDecoder } from '@jsquash/webp/decode.js';
import encodeWebp, { init as startEncoder } from '@jsquash/webp/encode.js';
import { defaultFormats } from 'jimp';
import { simd } from 'wasm-feature-detect';
import {
  type EncodeOptions,
  type ImageEngine,
  type ImageHeader,
  type ImageLimits,
  type ResultFormat,
  type SourceImageFormat,
  undecodable,
} from './engine.js';
import { checkHeader, hasText, swapSides, uint24 } from './header.js';
import { decodeFirstGifFrame } from './jimp-gif.js';
import { cannotEncode } from './options.js';
import { encodePng } from './png/encode.js';
import { dropOpaqueAlpha, flattenRaster, type Point, placeOnCanvas, type Raster } from './raster.js';
import { applyOperations, recordImage, type Steps } from './recorded-image.js';
import { resampleRaster } from './resize.js';
import { orientRaster } from './rotate.js';
import type { LoadText } from './text/overlay.js';
import { asBytes, readCodec } from './wasm-codec.js';

const jpegQuality = 80;
/** The same settings as those of the native engine. */
const webpOptions = { quality: 80, method: 2 };

type Encoder = (raster: Raster, options: EncodeOptions) => Uint8Array | Promise<Uint8Array>;
type Decoder = (bytes: Uint8Array, header: ImageHeader, limits: ImageLimits) => Raster | Promise<Raster>;

/**
 * The engine for where sharp cannot be loaded, by Jimp's codecs, with WebP and AVIF in WebAssembly. It gives an
 * animation's first frame, ignores ICC profiles and does not subsample a JPEG's colours.
 */
export async function createJimpEngine(text: LoadText): Promise<ImageEngine> {
  const webp = await createWebpCodec();
  const jpeg = jimpCodec('image/jpeg');
  const png = jimpCodec('image/png');

  const decoders: Record<SourceImageFormat, Decoder> = {
    jpg(bytes, _header, limits) {
      // A second frame header may promise another size than the one that was checked.
      const bounds = { maxResolutionInMP: limits.maxPixels / 1e6, maxMemoryUsageInMB: 2048 };
      return toRaster(jpeg.decode(asBuffer(bytes), { ...bounds, tolerantDecoding: false }));
    },
    png: (bytes) => toRaster(png.decode(asBuffer(boundedPng(bytes)))),
    avif: decodeAvif,
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

  /** Decodes the first frame to RGBA as stored. Throws an `ImageError` `bad_image` whatever the codecs throw. */
  const decode: Decoder = async (bytes, header, limits) => {
    try {
      const raster = await decoders[header.format](bytes, header, limits);
      if (raster.width === header.width && raster.height === header.height) return raster;
      throw new Error('The picture is not of the size that its header says.');
    } catch (cause) {
      throw undecodable(cause);
    }
  };

  const encoders: { [F in ResultFormat]?: Encoder } = {
    png: (raster) => encodePng(dropOpaqueAlpha(raster)),
    jpg: (raster, options) => new Uint8Array(jpeg.encode(raster, { quality: jpegQuality, ...options })),
    webp: (raster, options) => webp.encode(raster, options),
  };

  return {
    name: 'jimp',
    async open(bytes, limits, { name, header = checkHeader(bytes, limits) } = {}) {
      /** A step's picture is what Jimp would read of it in a PNG. */
      async function run(steps: Steps, opaque: boolean): Promise<Raster> {
        let raster = orientRaster(await decode(bytes, header, limits), header.orientation);
        for (const [at, operations] of steps.entries()) {
          const flat = opaque && at === steps.length - 1;
          if (flat) flattenRaster(raster);
          raster = await applyOperations(raster, operations, { text, resize: resampleRaster, opaque: flat });
        }
        return raster;
      }
      return recordImage({
        name,
        bytes,
        limits,
        engine: 'jimp',
        ...header,
        size: { ...swapSides(header, header.orientation), frames: 1 },
        async render(steps, { format, settings }) {
          const encode = encoders[format];
          if (!encode) throw new TypeError(cannotEncode(format));
          return encode(await run(steps, format === 'jpg'), settings);
        },
        pixels: (steps) => run(steps, false),
      });
    },
  };
}

/**
 * The file up to its end chunk, since pngjs stumbles over what follows. Throws where an interlaced picture unpacks to
 * more than its header says: pngjs inflates those without a bound, and 10 MB of zeros packed well are 10 GB.
 */
function boundedPng(bytes: Uint8Array): Uint8Array {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const packed: Uint8Array[] = [];
  let at = 8;
  while (at + 12 <= bytes.byteLength) {
    const length = view.getUint32(at);
    if (hasText(view, at + 4, 'IDAT')) packed.push(bytes.subarray(at + 8, at + 8 + length));
    at += 12 + length;
    if (hasText(view, at - length - 8, 'IEND')) break;
  }
  const interlace = view.getUint8(28);
  if (interlace !== 0) {
    const [width, height] = [view.getUint32(16), view.getUint32(20)];
    // The most that seven passes fill: 8 bytes a pixel, each row with its filter byte, some rows empty.
    inflateSync(Buffer.concat(packed), { maxOutputLength: width * height * 8 + height * 4 + 16 });
  }
  return bytes.subarray(0, at);
}

type Bitmap = Pick<Raster, 'data' | 'width' | 'height'>;

/** Jimp's codec for a media type. `Jimp.fromBuffer` would turn the picture by another reading of its EXIF than ours. */
function jimpCodec(mediaType: 'image/jpeg' | 'image/png') {
  const codec = defaultFormats.map((make) => make()).find(({ mime }) => mime === mediaType);
  if (!codec) throw new Error(`Jimp has no codec for ${mediaType}`);
  return codec as unknown as {
    decode(bytes: Buffer, options?: object): Bitmap;
    encode(bitmap: Bitmap, options?: object): Buffer;
  };
}

function toRaster({ data, width, height }: Bitmap): Raster {
  return { data, width, height, channels: 4, frames: 1 };
}

function asBuffer(bytes: Uint8Array): Buffer {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}

const frameHeaderBytes = 16;
const alphaFlag = 0x10;

/** The first frame of an animated WebP (RFC 9649, section 2.7) as a file of its own: the codec decodes no animation. */
function firstWebpFrame(bytes: Uint8Array): (Point & { bytes: Uint8Array }) | undefined {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  if (!hasText(view, 12, 'VP8X')) return undefined;
  let at = 12;
  while (at + 8 + frameHeaderBytes <= bytes.byteLength) {
    const length = view.getUint32(at + 4, true);
    if (hasText(view, at, 'ANMF')) {
      const frame = bytes.subarray(at + 8, at + 8 + length);
      return { bytes: wrapFrame(frame), left: 2 * uint24(view, at + 8), top: 2 * uint24(view, at + 11) };
    }
    at += 8 + length + (length & 1);
  }
  return undefined;
}

/** A file around the frame's chunks. The extended header announces alpha. */
function wrapFrame(frame: Uint8Array): Uint8Array {
  const chunks = frame.subarray(frameHeaderBytes);
  const file = Buffer.alloc(30 + chunks.length);
  file.write('RIFF', 0, 'latin1');
  file.writeUInt32LE(file.length - 8, 4);
  file.write('WEBPVP8X', 8, 'latin1');
  file.writeUInt32LE(10, 16);
  file[20] = alphaFlag;
  file.set(frame.subarray(6, 12), 24);
  file.set(chunks, 30);
  return file;
}

/**
 * libavif in WebAssembly, with a memory for each picture that is freed with it. Turns nothing upright. Loaded on first
 * use: few pictures need it.
 */
async function decodeAvif(bytes: Uint8Array): Promise<Raster> {
  const { default: start } = await import('@jsquash/avif/codec/dec/avif_dec.js');
  const codec = await start({ noInitialRun: true, ...(await readCodec('@jsquash/avif/avif_dec.wasm')) });
  const decoded = codec.decode(bytes as Uint8Array<ArrayBuffer>, 8);
  if (!decoded) throw new Error('No picture.');
  return { ...decoded, data: asBytes(decoded.data), channels: 4, frames: 1 };
}

/** libwebp in WebAssembly. After a fault within the module its memory is not to be trusted: it is started again. */
async function createWebpCodec() {
  const decoder = await readCodec('@jsquash/webp/webp_dec.wasm');
  const encoder = await readCodec(`@jsquash/webp/webp_enc${(await simd()) ? '_simd' : ''}.wasm`);

  async function start(): Promise<void> {
    await startDecoder(decoder);
    await startEncoder(encoder);
  }

  async function restart(error: unknown): Promise<never> {
    if (error instanceof Error && error.name === 'RuntimeError') await start();
    throw error;
  }

  await start();
  return {
    async decode(bytes: Uint8Array): Promise<Raster> {
      // Its types ask for an ArrayBuffer and an ImageData; what it reads are bytes, and these three fields.
      const { data, width, height } = await decodeWebp(bytes as unknown as ArrayBuffer).catch(restart);
      return { data: asBytes(data), width, height, channels: 4, frames: 1 };
    },
    async encode({ data, width, height }: Raster, chosen: EncodeOptions): Promise<Uint8Array> {
      const picture = { data, width, height } as never;
      return new Uint8Array(await encodeWebp(picture, { ...webpOptions, ...chosen }).catch(restart));
    },
  };
}
