import { nameRefusedHeif, readAvifHeader } from './avif.js';
import {
  checkSize,
  ImageError,
  type ImageHeader,
  type ImageLimits,
  type Orientation,
  type Size,
} from './engine.js';

/** Reads one format's header; undefined where the bytes are not a picture of it. Never throws, never copies. */
type HeaderReader = (view: DataView, maxFrames: number) => ImageHeader | undefined;

/** Whether the ASCII text stands at this place. */
export function hasText(view: DataView, at: number, text: string): boolean {
  if (at + text.length > view.byteLength) return false;
  for (let i = 0; i < text.length; i++) {
    if (view.getUint8(at + i) !== text.charCodeAt(i)) return false;
  }
  return true;
}

const orientationTag = 0x0112;
const exifShort = 3;
const exifLong = 4;

/**
 * The orientation in an EXIF block of `length` bytes, with or without JPEG's `Exif\0\0`; 1 where there is none or it is
 * broken, as cameras' metadata may be. Own code: both engines need one reading, and packages read hundreds of tags.
 */
function readOrientation(view: DataView, at: number, length: number): Orientation {
  const start = hasText(view, at, 'Exif\0\0') ? at + 6 : at;
  const end = Math.min(at + length, view.byteLength);
  if (start + 8 > end) return 1;
  const little = hasText(view, start, 'II*\0');
  if (!little && !hasText(view, start, 'MM\0*')) return 1;
  const directory = start + view.getUint32(start + 4, little);
  if (directory + 2 > end) return 1;
  const entries = view.getUint16(directory, little);
  for (let i = 0; i < entries; i++) {
    const entry = directory + 2 + i * 12;
    if (entry + 12 > end) return 1;
    if (view.getUint16(entry, little) !== orientationTag) continue;
    const type = view.getUint16(entry + 2, little);
    if (type !== exifLong && type !== exifShort) return 1;
    const value = type === exifLong ? view.getUint32(entry + 8, little) : view.getUint16(entry + 8, little);
    return value >= 1 && value <= 8 ? (value as Orientation) : 1;
  }
  return 1;
}

const startOfScan = 0xda;
const endOfImage = 0xd9;
const app1 = 0xe1;

/** Walks the markers up to the first scan. Bytes between segments are skipped, as the decoders do. */
function readJpegHeader(view: DataView): ImageHeader | undefined {
  if (view.byteLength < 4 || view.getUint16(0) !== 0xffd8) return undefined;
  let frame: Omit<ImageHeader, 'orientation'> | undefined;
  let orientation: Orientation | undefined;
  let at = 2;
  while (at + 4 <= view.byteLength) {
    const marker = view.getUint8(at + 1);
    if (view.getUint8(at) !== 0xff || marker === 0xff) {
      at++;
      continue;
    }
    if (marker === endOfImage) break;
    if (!hasLength(marker)) {
      at += 2;
      continue;
    }
    if (marker === startOfScan) return frame && { ...frame, orientation: orientation ?? 1 };
    const length = view.getUint16(at + 2);
    if (length < 2) return undefined;
    if (isFrame(marker)) {
      // A second frame is a trick to show one size here and another to a decoder.
      if (frame || length < 8 || at + 10 > view.byteLength) return undefined;
      const [height, width] = [view.getUint16(at + 5), view.getUint16(at + 7)];
      frame = { format: 'jpg', width, height, frames: 1, cmyk: view.getUint8(at + 9) === 4, alpha: false };
    }
    if (marker === app1 && orientation === undefined && hasText(view, at + 4, 'Exif\0\0')) {
      orientation = readOrientation(view, at + 4, length - 2);
    }
    at += 2 + length;
  }
  return undefined;
}

function isFrame(marker: number): boolean {
  const table = marker === 0xc4 || marker === 0xc8 || marker === 0xcc;
  return marker >= 0xc0 && marker <= 0xcf && !table;
}

function hasLength(marker: number): boolean {
  return marker !== 0x00 && marker !== 0x01 && !(marker >= 0xd0 && marker <= 0xd8);
}

const pngSignature = '\x89PNG\r\n\x1a\n';

/** Size from IHDR, orientation from an eXIf chunk before the pixels. An APNG counts as its still first picture. */
function readPngHeader(view: DataView): ImageHeader | undefined {
  if (!hasText(view, 0, pngSignature) || view.byteLength < 33 || !hasText(view, 12, 'IHDR')) return undefined;
  const [width, height] = [view.getUint32(16), view.getUint32(20)];
  const alpha = (view.getUint8(25) & 4) !== 0;
  const header: ImageHeader = { format: 'png', width, height, frames: 1, orientation: 1, cmyk: false, alpha };
  let at = 8;
  while (at + 12 <= view.byteLength) {
    const length = view.getUint32(at);
    if (hasText(view, at + 4, 'IDAT')) return header;
    if (hasText(view, at + 4, 'tRNS')) header.alpha = true;
    if (hasText(view, at + 4, 'eXIf')) header.orientation = readOrientation(view, at + 8, length);
    at += 12 + length;
  }
  return undefined;
}

/** Size from the canvas (`VP8X`) or the one bitstream; frames by counting `ANMF` chunks; orientation from `EXIF`. */
function readWebpHeader(view: DataView, maxFrames: number): ImageHeader | undefined {
  if (!hasText(view, 0, 'RIFF') || !hasText(view, 8, 'WEBP')) return undefined;
  let size = readWebpSize(view, 12);
  if (!size) return undefined;
  // Of `VP8X` a flag, of `VP8L` the bit behind its size; a lone `VP8 ` has no transparency.
  const alpha = (view.getUint8(hasText(view, 12, 'VP8X') ? 20 : 24) & 0x10) !== 0;
  const header: ImageHeader = { format: 'webp', ...size, frames: 1, orientation: 1, cmyk: false, alpha };
  if (!hasText(view, 12, 'VP8X')) return header;
  let frames = 0;
  let at = 12;
  while (at + 8 <= view.byteLength && frames <= maxFrames) {
    const length = view.getUint32(at + 4, true);
    if (hasText(view, at, 'ANMF')) frames++;
    if (hasText(view, at, 'EXIF')) header.orientation = readOrientation(view, at + 8, length);
    // A still picture must fill its canvas; a decoder that goes by the picture must not get a larger one.
    size = hasText(view, at, 'VP8X') ? undefined : readWebpSize(view, at);
    if (size && (size.width !== header.width || size.height !== header.height)) return undefined;
    at += 8 + length + (length & 1);
  }
  header.frames = Math.max(1, frames);
  return header;
}

/** Pixels that the chunk at `at` declares; see RFC 9649, sections 2.7 and 3.4, and RFC 6386, section 9.1. */
function readWebpSize(view: DataView, at: number): Size | undefined {
  const data = at + 8;
  const left = view.byteLength - data;
  if (left >= 10 && hasText(view, at, 'VP8X')) {
    return { width: 1 + uint24(view, data + 4), height: 1 + uint24(view, data + 7) };
  }
  if (left >= 5 && hasText(view, at, 'VP8L') && view.getUint8(data) === 0x2f) {
    const bits = view.getUint32(data + 1, true);
    return { width: 1 + (bits & 0x3fff), height: 1 + ((bits >>> 14) & 0x3fff) };
  }
  if (left >= 10 && hasText(view, at, 'VP8 ') && hasText(view, data + 3, '\x9d\x01\x2a')) {
    const side = (offset: number) => view.getUint16(data + offset, true) & 0x3fff;
    return { width: side(6), height: side(8) };
  }
  return undefined;
}

/** Little-endian. */
export function uint24(view: DataView, at: number): number {
  return view.getUint16(at, true) | (view.getUint8(at + 2) << 16);
}

/** What a GIF's blocks begin with. */
export const gifExtensionBlock = 0x21;
export const gifFrameBlock = 0x2c;

/** Screens that old programs wrote whatever the picture, and libnsgif therefore does not believe. */
const usualScreens = new Set(['640x480', '640x512', '800x600', '1024x768', '1280x1024', '1600x1200']);

/** Counts frames. The size is as libvips decodes: of the screen, grown by the first frame, or of that frame alone. */
function readGifHeader(view: DataView, maxFrames: number): ImageHeader | undefined {
  if (view.byteLength < 13 || !(hasText(view, 0, 'GIF87a') || hasText(view, 0, 'GIF89a'))) return undefined;
  let [width, height] = [view.getUint16(6, true), view.getUint16(8, true)];
  if (!width || !height || width > 2048 || height > 2048 || usualScreens.has(`${width}x${height}`)) {
    [width, height] = [0, 0];
  }
  let frames = 0;
  let alpha = false;
  let at = 13 + gifTableBytes(view.getUint8(10));
  while (at < view.byteLength && frames <= maxFrames) {
    const block = view.getUint8(at);
    if (block === gifExtensionBlock) {
      const isControl = hasText(view, at + 1, '\xf9\x04') && at + 4 <= view.byteLength;
      if (isControl && view.getUint8(at + 3) & 1) alpha = true;
      at = skipGifSubBlocks(view, at + 2);
      continue;
    }
    if (block !== gifFrameBlock || at + 11 > view.byteLength) break;
    frames++;
    if (frames === 1) {
      width = Math.max(width, view.getUint16(at + 1, true) + view.getUint16(at + 5, true));
      height = Math.max(height, view.getUint16(at + 3, true) + view.getUint16(at + 7, true));
    }
    at = skipGifSubBlocks(view, at + 11 + gifTableBytes(view.getUint8(at + 9)));
  }
  if (frames === 0) return undefined;
  return { format: 'gif', width, height, frames, orientation: 1, cmyk: false, alpha };
}

/** Bytes of the colour table that these flags announce. */
export function gifTableBytes(flags: number): number {
  return flags & 0x80 ? 3 << ((flags & 7) + 1) : 0;
}

function skipGifSubBlocks(view: DataView, from: number): number {
  let at = from;
  while (at < view.byteLength) {
    const size = view.getUint8(at);
    if (size === 0) return at + 1;
    at += 1 + size;
  }
  return at;
}

const readers: HeaderReader[] = [
  readJpegHeader,
  readPngHeader,
  readWebpHeader,
  readGifHeader,
  readAvifHeader,
];

/**
 * Reads the header of a picture in these formats; undefined for anything else. Linear in the bytes, without a copy, and
 * never throws: it runs on the main thread on bytes from strangers. Own readers because both engines are held to one
 * reading, and packages for it count no frames.
 */
export function probeImage(bytes: Uint8Array, maxFrames = Number.MAX_SAFE_INTEGER): ImageHeader | undefined {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  for (const read of readers) {
    const header = read(view, maxFrames);
    if (header) return header.width > 0 && header.height > 0 ? header : undefined;
  }
  return undefined;
}

/**
 * The header of bytes that may go on to a decoder, which allocates what it promises: 33 KB can promise a gigabyte.
 * Throws an `ImageError`.
 */
export function checkHeader(bytes: Uint8Array, limits: ImageLimits): ImageHeader {
  const header = probeImage(bytes, limits.maxFrames);
  if (header) {
    checkSize('The image', header, limits);
    const { codedPixels = 0 } = header;
    if (codedPixels <= limits.maxPixels) return header;
    const message = `The image decodes to ${codedPixels} pixels; the limit is ${limits.maxPixels}.`;
    throw new ImageError('image_too_large', message);
  }
  const refused = nameRefusedHeif(new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength));
  if (refused) throw new ImageError('bad_image', `This is ${refused}, which is not accepted. ${wanted}`);
  const isEmpty = bytes.byteLength === 0;
  const unknown = 'This is not a JPEG, PNG, WebP, GIF or AVIF whose header can be read.';
  throw new ImageError('bad_image', isEmpty ? `The image is empty. ${wanted}` : unknown);
}

const wanted = 'Send a JPEG, PNG, WebP, GIF or still AVIF.';

/** Width and height once the orientation is applied to what is stored, or back. */
export function swapSides({ width, height }: Size, orientation: Orientation): Size {
  return orientation > 4 ? { width: height, height: width } : { width, height };
}
