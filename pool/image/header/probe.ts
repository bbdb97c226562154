import { ImageError, type ImageLimits } from '../engine.js';
import { checkSize } from '../limits.js';
import { readGifHeader } from './gif.js';
import type { HeaderReader, ImageHeader } from './header.js';
import { readJpegHeader } from './jpeg.js';
import { readPngHeader } from './png.js';
import { readWebpHeader } from './webp.js';

export type { ImageHeader, Orientation, SourceFormat } from './header.js';

const readers: HeaderReader[] = [readJpegHeader, readPngHeader, readWebpHeader, readGifHeader];

/**
 * Reads the header of a JPEG, PNG, WebP or GIF; undefined for anything else. In time linear in the bytes, without a
 * copy, and it never throws: it runs on the main thread on bytes that nobody has looked at yet. Frames are counted
 * up to one past `maxFrames`. Own readers because both engines have to be held to one reading of size, frames and
 * orientation, and the packages that are known for it count no frames.
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
 * The header of bytes that may go on to a decoder. Throws an `ImageError`: `bad_image` where they are no JPEG, PNG,
 * WebP or GIF, `image_too_large` where width × height × frames or the frames alone pass the limits. A decoder
 * allocates what a header promises, and a file of 33 KB can promise a gigabyte.
 */
export function checkHeader(bytes: Uint8Array, limits: ImageLimits): ImageHeader {
  const header = probeImage(bytes, limits.maxFrames);
  if (!header) {
    throw new ImageError(
      'bad_image',
      bytes.byteLength === 0
        ? 'The image is empty. Send a JPEG, PNG, WebP or GIF.'
        : 'This is not a JPEG, PNG, WebP or GIF whose header can be read.',
    );
  }
  checkSize('image', header, limits);
  return header;
}

/** Width and height once the orientation is applied. */
export function uprightSize(header: ImageHeader): { width: number; height: number } {
  const { width, height, orientation } = header;
  return orientation > 4 ? { width: height, height: width } : { width, height };
}
