import type { EncodedImage, Image, ImageEngine, ImageLimits } from './engine.js';
import { dropOpaqueAlpha } from './raster.js';
import { pixelsOf } from './recorded-image.js';

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
  const whole = await engine.open(bytes, limits);
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
