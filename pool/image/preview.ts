import {
  checkSize,
  type EncodedImage,
  type Image,
  type ImageEngine,
  ImageError,
  type ImageLimits,
  type Size,
  undecodable,
} from './engine.js';
import { encodePng } from './png/encode.js';
import { dropOpaqueAlpha } from './raster.js';
import { pixelsOf } from './recorded-image.js';
import { asBytes, readCodec } from './wasm-codec.js';

/** Pixels a byte that no picture worth a look reaches: to encode more than these would be for nothing. */
const pixelsPerByte = 8;
/** How much smaller each try is than the last at least, by area, so that there are few. */
const step = 0.8;

/**
 * The picture in at most so many bytes: shrunk as needed, a JPEG where it is opaque and a WebP where it is not. Throws
 * what `engine.open` does, and a RangeError where not even one pixel fits.
 */
export async function makePreview(
  engine: ImageEngine,
  bytes: Uint8Array,
  limits: ImageLimits,
  /** The most that the result's `body` may take. */
  { maxBytes }: { maxBytes: number },
): Promise<EncodedImage> {
  const whole = await engine.open(isAvif(bytes) ? await avifToPng(bytes, limits) : bytes, limits);
  let area = Math.min(1, (maxBytes * pixelsPerByte) / (whole.width * whole.height));
  let format: 'jpg' | 'webp' | undefined;
  for (;;) {
    const image = shrink(whole, area);
    format ??= (await isOpaque(image)) ? 'jpg' : 'webp';
    const encoded = await image.encode(format);
    if (encoded.body.byteLength <= maxBytes) return encoded;
    if (image.width === 1 && image.height === 1) {
      throw new RangeError(`No preview of this picture fits into ${maxBytes} bytes.`);
    }
    // A picture of half the area takes more than half the bytes: the aim is a little below the limit.
    area *= Math.min(step, (0.9 * maxBytes) / encoded.body.byteLength);
  }
}

function isAvif(bytes: Uint8Array): boolean {
  return Buffer.from(bytes.subarray(4, 12)).toString('latin1') === 'ftypavif';
}

/**
 * A helper may have answered with an AVIF, whose loader sharp keeps blocked. By libavif in WebAssembly, with a memory
 * of its own for each: what a parser of hostile bytes can do ends there.
 */
async function avifToPng(bytes: Uint8Array, limits: ImageLimits): Promise<Uint8Array> {
  checkSize('The image', { ...largestIn(bytes), frames: 1 }, limits);
  const { default: decode, init } = await import('@jsquash/avif/decode.js');
  await init(await readCodec('@jsquash/avif/avif_dec.wasm'));
  // Its types ask for an ArrayBuffer; what it reads are bytes.
  const decoded = await decode(bytes as unknown as ArrayBuffer).catch((cause) => {
    throw undecodable(cause);
  });
  if (!decoded) throw undecodable(new Error('No picture.'));
  const { data, width, height } = decoded;
  return encodePng(dropOpaqueAlpha({ data: asBytes(data), width, height, channels: 4, frames: 1 }));
}

/** Where an AVIF says how large its pictures are, all of them before any of their data. */
const avifHeaderBytes = 65_536;

/** The largest of the sizes in boxes `ispe` (ISO/IEC 23008-12, 6.5.3): libavif decodes nothing that has no such box. */
function largestIn(bytes: Uint8Array): Size {
  const header = Buffer.from(bytes.buffer, bytes.byteOffset, Math.min(bytes.byteLength, avifHeaderBytes));
  let largest: Size | undefined;
  for (let at = header.indexOf('ispe'); at >= 0; at = header.indexOf('ispe', at + 4)) {
    if (at + 16 > header.length) break;
    const [width, height] = [header.readUInt32BE(at + 8), header.readUInt32BE(at + 12)];
    if (!largest || width * height > largest.width * largest.height) largest = { width, height };
  }
  if (!largest) throw new ImageError('bad_image', 'This is not an AVIF whose header can be read.');
  return largest;
}

/** The picture at a share of its area. */
function shrink(image: Image, area: number): Image {
  if (area >= 1) return image;
  const side = (pixels: number) => Math.max(1, Math.round(pixels * Math.sqrt(area)));
  return image.resize({ width: side(image.width), height: side(image.height), fit: 'fill' });
}

async function isOpaque(image: Image): Promise<boolean> {
  if (image.format === 'jpg') return true;
  return dropOpaqueAlpha(await pixelsOf(image)).channels === 3;
}
