import { ImageError } from './engine.js';

/** Decoded pixels: sRGB, 8 bit, rows without padding; alpha is not premultiplied. */
export interface Raster {
  data: Uint8Array;
  /** Pixels. */
  width: number;
  /** Pixels of one frame. */
  height: number;
  /** 3 for RGB, 4 for RGBA. */
  channels: 3 | 4;
  /** Frames, one below the other in `data`. */
  frames: number;
}

/** Every frame on a canvas filled with one pixel's bytes, its top left corner at (`left`, `top`). */
export function placeOnCanvas(
  raster: Raster,
  width: number,
  height: number,
  left: number,
  top: number,
  pixel: Uint8Array,
): Raster {
  const { channels, frames } = raster;
  const data = Buffer.alloc(width * height * channels * frames, pixel);
  const bytes = raster.width * channels;
  for (let frame = 0; frame < frames; frame++) {
    for (let row = 0; row < raster.height; row++) {
      const from = (frame * raster.height + row) * bytes;
      const to = ((frame * height + top + row) * width + left) * channels;
      data.set(raster.data.subarray(from, from + bytes), to);
    }
  }
  return { data, width, height, channels, frames };
}

/** Lays an RGBA raster on white, in place. */
export function flattenRaster({ data, channels }: Raster): void {
  if (channels === 3) return;
  for (let i = 0; i < data.length; i += 4) {
    const alpha = data[i + 3] as number;
    if (alpha === 255) continue;
    const white = 255 * (255 - alpha) + 127;
    data[i] = ((data[i] as number) * alpha + white) / 255;
    data[i + 1] = ((data[i + 1] as number) * alpha + white) / 255;
    data[i + 2] = ((data[i + 2] as number) * alpha + white) / 255;
    data[i + 3] = 255;
  }
}

/** Pixels after which it is looked whether all were opaque. */
const glance = 1024;
/** Whether a word's first byte is its lowest, as nearly everywhere. */
const lowestFirst = new Uint8Array(Uint32Array.of(1).buffer)[0] === 1;

/**
 * RGB where every pixel is opaque: a quarter fewer bytes to filter and to compress. Looks and copies in one pass, four
 * pixels to three words at a time, which costs a quarter of bytes one by one.
 */
export function dropOpaqueAlpha(raster: Raster): Raster {
  const { data: source, channels } = raster;
  if (channels === 3) return raster;
  const pixels = source.length / 4;
  const data = Buffer.allocUnsafeSlow(pixels * 3);
  const fours = lowestFirst && source.byteOffset % 4 === 0 ? pixels & ~3 : 0;
  const from = new Int32Array(source.buffer, fours && source.byteOffset, fours);
  const to = new Int32Array(data.buffer, 0, (fours / 4) * 3);
  let opaque = -1;
  for (let i = 0, o = 0; i < fours; ) {
    for (const end = Math.min(i + glance, fours); i < end; i += 4, o += 3) {
      const a = from[i] as number;
      const b = from[i + 1] as number;
      const c = from[i + 2] as number;
      const d = from[i + 3] as number;
      opaque &= a & b & c & d;
      to[o] = (a & 0xffffff) | (b << 24);
      to[o + 1] = ((b >>> 8) & 0xffff) | (c << 16);
      to[o + 2] = ((c >>> 16) & 0xff) | (d << 8);
    }
    if (opaque >>> 24 !== 255) return raster;
  }
  for (let i = fours; i < pixels; i++) {
    if (source[4 * i + 3] !== 255) return raster;
    for (let channel = 0; channel < 3; channel++) data[3 * i + channel] = source[4 * i + channel] as number;
  }
  return { ...raster, data, channels: 3 };
}

/** A part of a picture, in pixels from its top left corner. */
export interface Rectangle {
  left: number;
  top: number;
  width: number;
  height: number;
}

/**
 * The part of every frame that lies in the rectangle. That it lies inside was judged by the header's word: an `ImageError`
 * `bad_image` where a decoder gave a smaller picture, of which no memory beyond is shown.
 */
export function cropRaster(raster: Raster, { left, top, width, height }: Rectangle): Raster {
  const { channels, frames } = raster;
  if (left + width > raster.width || top + height > raster.height) {
    throw new ImageError('bad_image', 'The picture is not of the size that its header says.');
  }
  const data = Buffer.allocUnsafeSlow(width * height * channels * frames);
  const bytes = width * channels;
  for (let frame = 0, to = 0; frame < frames; frame++) {
    for (let row = 0; row < height; row++, to += bytes) {
      const from = ((frame * raster.height + top + row) * raster.width + left) * channels;
      data.set(raster.data.subarray(from, from + bytes), to);
    }
  }
  return { data, width, height, channels, frames };
}

/**
 * Lays the first frame of `overlay` over every frame of `raster`, in place, its top left corner at (`left`, `top`); what lies
 * outside is cut off. Porter-Duff "over" on 8 bit values as they are, as browsers blend. Own code so that both engines give
 * the same pixels.
 */
export function compositeRaster(raster: Raster, overlay: Raster, left: number, top: number): void {
  const fromX = Math.max(0, -left);
  const fromY = Math.max(0, -top);
  const endX = Math.min(overlay.width, raster.width - left);
  const endY = Math.min(overlay.height, raster.height - top);
  if (fromX >= endX) return;
  const layRow = raster.channels === 3 ? layOnOpaque : layOnAlpha;
  for (let frame = 0; frame < raster.frames; frame++) {
    for (let y = fromY; y < endY; y++) {
      const to = ((frame * raster.height + top + y) * raster.width + left + fromX) * raster.channels;
      const from = (y * overlay.width + fromX) * overlay.channels;
      layRow(raster.data, to, overlay, from, endX - fromX);
    }
  }
}

function layOnOpaque(
  target: Uint8Array,
  to: number,
  { data, channels }: Raster,
  from: number,
  count: number,
) {
  for (let i = 0, t = to, s = from; i < count; i++, t += 3, s += channels) {
    const over = channels === 3 ? 1 : (data[s + 3] as number) / 255;
    for (let c = 0; c < 3; c++) {
      target[t + c] = (data[s + c] as number) * over + (target[t + c] as number) * (1 - over) + 0.5;
    }
  }
}

function layOnAlpha(target: Uint8Array, to: number, { data, channels }: Raster, from: number, count: number) {
  for (let i = 0, t = to, s = from; i < count; i++, t += 4, s += channels) {
    const over = channels === 3 ? 1 : (data[s + 3] as number) / 255;
    if (over === 0) continue;
    const under = ((target[t + 3] as number) / 255) * (1 - over);
    const alpha = over + under;
    for (let c = 0; c < 3; c++) {
      const mixed = (data[s + c] as number) * over + (target[t + c] as number) * under;
      target[t + c] = mixed / alpha + 0.5;
    }
    target[t + 3] = alpha * 255 + 0.5;
  }
}
