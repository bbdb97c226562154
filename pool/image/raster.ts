import { ImageError, type Size } from './engine.js';

/** Decoded pixels: sRGB, 8 bit, rows without padding; alpha is not premultiplied. */
export interface Raster extends Size {
  data: Uint8Array;
  /** 3 for RGB, 4 for RGBA. */
  channels: 3 | 4;
  /** One below the other in `data`. */
  frames: number;
}

/** A point of a picture, in whole pixels from its top left corner; may lie outside. */
export interface Point {
  left: number;
  top: number;
}

export interface Rectangle extends Point, Size {}

/** Every frame on a canvas of this size, filled with one pixel's bytes, its top left corner at `to`. */
export function placeOnCanvas(raster: Raster, { width, height }: Size, to: Point, pixel: Uint8Array): Raster {
  const { channels, frames } = raster;
  const canvas = { data: Buffer.alloc(width * height * channels * frames, pixel), width, height };
  const target = { ...canvas, channels, frames };
  copyPixels(raster, { left: 0, top: 0 }, target, to, raster);
  return target;
}

/**
 * The part of every frame in the rectangle. Throws `bad_image` where the decoder gave less than the header promised:
 * memory beyond must not be shown.
 */
export function cropRaster(raster: Raster, rectangle: Rectangle): Raster {
  const { left, top, width, height } = rectangle;
  const { channels, frames } = raster;
  if (left + width > raster.width || top + height > raster.height) {
    throw new ImageError('bad_image', 'The picture is not of the size that its header says.');
  }
  const data = Buffer.allocUnsafeSlow(width * height * channels * frames);
  const target = { data, width, height, channels, frames };
  copyPixels(raster, rectangle, target, { left: 0, top: 0 }, rectangle);
  return target;
}

function copyPixels(source: Raster, from: Point, target: Raster, to: Point, { width, height }: Size): void {
  const { channels, frames } = source;
  const at = (raster: Raster, point: Point, frame: number, row: number) =>
    ((frame * raster.height + point.top + row) * raster.width + point.left) * channels;
  for (let frame = 0; frame < frames; frame++) {
    for (let row = 0; row < height; row++) {
      const first = at(source, from, frame, row);
      target.data.set(source.data.subarray(first, first + width * channels), at(target, to, frame, row));
    }
  }
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

/** RGB where every pixel is opaque. Looks and copies in one pass, four pixels at a time. */
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

/** RGBA, or RGB, without frames. */
export interface Overlay extends Size {
  data: Uint8Array;
  channels?: 3 | 4;
}

/**
 * Lays an overlay, whose colours may be `premultiplied`, over every frame, in place: Porter-Duff "over" on 8 bit
 * values, as browsers blend. Own code for the same pixels by both engines, and since sharp's goes over the whole
 * picture.
 */
export function blendOverlay(
  raster: Raster,
  overlay: Overlay,
  { left, top }: Point,
  { opacity = 1, premultiplied = false } = {},
): void {
  const { channels = 4 } = overlay;
  const first = Math.max(0, -left);
  const count = Math.min(overlay.width, raster.width - left) - first;
  const bottom = Math.min(overlay.height, raster.height - top);
  if (opacity === 0 || count <= 0) return;
  const blendRow = raster.channels === 3 ? blendOnOpaque : blendOnAlpha;
  for (let frame = 0; frame < raster.frames; frame++) {
    for (let row = Math.max(0, -top); row < bottom; row++) {
      const to = ((frame * raster.height + top + row) * raster.width + left + first) * raster.channels;
      const from = (row * overlay.width + first) * channels;
      const end = from + count * channels;
      blendRow(raster.data, to, overlay.data, from, end, channels, opacity, premultiplied);
    }
  }
}

type BlendRow = (
  target: Uint8Array,
  to: number,
  source: Uint8Array,
  from: number,
  end: number,
  step: 3 | 4,
  opacity: number,
  premultiplied: boolean,
) => void;

/** On RGB: in a loop of its own, which takes a third of the time of `blendOnAlpha`. */
const blendOnOpaque: BlendRow = (target, to, source, from, end, step, opacity, premultiplied) => {
  for (let s = from, t = to; s < end; s += step, t += 3) {
    const over = step === 3 ? opacity : ((source[s + 3] as number) / 255) * opacity;
    if (over === 0) continue;
    const part = premultiplied ? opacity : over;
    const rest = 1 - over;
    target[t] = (source[s] as number) * part + (target[t] as number) * rest + 0.5;
    target[t + 1] = (source[s + 1] as number) * part + (target[t + 1] as number) * rest + 0.5;
    target[t + 2] = (source[s + 2] as number) * part + (target[t + 2] as number) * rest + 0.5;
  }
};

const blendOnAlpha: BlendRow = (target, to, source, from, end, step, opacity, premultiplied) => {
  for (let s = from, t = to; s < end; s += step, t += 4) {
    const over = step === 3 ? opacity : ((source[s + 3] as number) / 255) * opacity;
    if (over === 0) continue;
    const part = premultiplied ? opacity : over;
    const under = ((target[t + 3] as number) / 255) * (1 - over);
    const alpha = over + under;
    for (let c = 0; c < 3; c++) {
      const mixed = (source[s + c] as number) * part + (target[t + c] as number) * under;
      target[t + c] = Math.min(255, mixed / alpha + 0.5);
    }
    target[t + 3] = alpha * 255 + 0.5;
  }
};

/** Writes a pixel of this opacity, 0 to 1, whose colours are premultiplied by it. */
export type PutPixel = (
  data: Uint8Array,
  to: number,
  red: number,
  green: number,
  blue: number,
  alpha: number,
) => void;

/** On what is opaque, of three channels or four: laid on white. */
export const putOnWhite: PutPixel = (data, to, red, green, blue, alpha) => {
  const white = 255 * (1 - alpha);
  data[to] = Math.min(255, red + white + 0.5);
  data[to + 1] = Math.min(255, green + white + 0.5);
  data[to + 2] = Math.min(255, blue + white + 0.5);
};

/** In place of what is there. */
export const putOnNothing: PutPixel = (data, to, red, green, blue, alpha) => {
  const visible = alpha === 0 ? 1 : alpha;
  data[to] = Math.min(255, red / visible + 0.5);
  data[to + 1] = Math.min(255, green / visible + 0.5);
  data[to + 2] = Math.min(255, blue / visible + 0.5);
  data[to + 3] = Math.min(255, alpha * 255 + 0.5);
};

/** RGBA: an RGB raster with full alpha, any other as it is. */
export function withAlpha(raster: Raster): Raster {
  if (raster.channels === 4) return raster;
  const { data: source } = raster;
  const data = Buffer.allocUnsafeSlow((source.length / 3) * 4);
  for (let i = 0, o = 0; i < source.length; i += 3, o += 4) {
    data[o] = source[i] as number;
    data[o + 1] = source[i + 1] as number;
    data[o + 2] = source[i + 2] as number;
    data[o + 3] = 255;
  }
  return { ...raster, data, channels: 4 };
}
