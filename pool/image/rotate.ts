import type { Orientation, Size } from './engine.js';
import { type Overlay, type PutPixel, putOnNothing, putOnWhite, type Raster } from './raster.js';

/**
 * Every frame upright by EXIF 2.32, tag 0x0112: a mirror of columns, one of rows and, from 5 on, an exchange of both.
 * Own code because Jimp turns by its own reading of the EXIF.
 */
export function orientRaster(raster: Raster, orientation: Orientation): Raster {
  if (orientation === 1) return raster;
  const { width: w, height: h, channels, frames } = raster;
  const swap = orientation > 4;
  const width = swap ? h : w;
  const height = swap ? w : h;
  const mirrorX = [2, 3, 7, 8].includes(orientation);
  const mirrorY = [3, 4, 6, 7].includes(orientation);
  // One step to the right in the result is a step along a row of the source or, exchanged, along a column.
  const stepX = swap ? (mirrorY ? -w : w) : mirrorX ? -1 : 1;
  const stepY = swap ? (mirrorX ? -1 : 1) : mirrorY ? -w : w;
  const first = (mirrorX ? w - 1 : 0) + (mirrorY ? (h - 1) * w : 0);
  const data = new Uint8Array(raster.data.length);
  const copy = channels === 4 ? pixelWords(raster.data, data) : pixelBytes(raster.data, data);
  for (let frame = 0, to = 0; frame < frames; frame++) {
    let row = first + frame * w * h;
    for (let y = 0; y < height; y++, row += stepY, to += width) copy(row, stepX, to, width);
  }
  return { data, width, height, channels, frames };
}

/** Copies `count` pixels, `step` pixels apart from pixel `from` on, to pixel `to` and those that follow it. */
type CopyRow = (from: number, step: number, to: number, count: number) => void;

/** One word a pixel. A buffer cut from a pool may start between words; then it is copied. */
function pixelWords(source: Uint8Array, target: Uint8Array): CopyRow {
  const aligned = source.byteOffset % 4 === 0 ? source : new Uint8Array(source);
  const words = new Uint32Array(aligned.buffer, aligned.byteOffset, aligned.byteLength / 4);
  const turned = new Uint32Array(target.buffer);
  return function copyWords(from, step, to, count) {
    for (let i = 0, at = from; i < count; i++, at += step) turned[to + i] = words[at] as number;
  };
}

function pixelBytes(source: Uint8Array, target: Uint8Array): CopyRow {
  return function copyBytes(from, step, to, count) {
    for (let i = 0, at = from * 3, o = to * 3; i < count; i++, at += step * 3, o += 3) {
      target[o] = source[at] as number;
      target[o + 1] = source[at + 1] as number;
      target[o + 2] = source[at + 2] as number;
    }
  };
}

/** The EXIF orientations that are turns clockwise by these degrees. */
export const quarterTurns: Partial<Record<number, Orientation>> = { 90: 6, 180: 3, 270: 8 };

/** A turn clockwise by any angle, and the size of the picture that it gives. */
export interface Rotation extends Size {
  degrees: number;
  /** `#rrggbb` of what it leaves empty; undefined for transparent, or white where that cannot be. */
  background?: string | undefined;
}

/** Part of a pixel that may be lost at an edge: what is right of it comes of sines that are not quite 0. */
export const slack = 1e-6;

/** The smallest picture that holds all of one of this size turned around its middle. */
export function rotatedSize({ width, height }: Size, degrees: number) {
  const { cos, sin } = directionOf(degrees);
  return {
    width: Math.max(1, Math.ceil(width * Math.abs(cos) + height * Math.abs(sin) - slack)),
    height: Math.max(1, Math.ceil(width * Math.abs(sin) + height * Math.abs(cos) - slack)),
  };
}

/**
 * Every frame turned around its middle, on its background or else on white where `opaque`: bilinear, as libvips turns,
 * on premultiplied values. Own code so that both engines give the same pixels.
 */
export function rotateRaster(raster: Raster, rotation: Rotation, opaque: boolean): Raster {
  const { background } = rotation;
  if (background !== undefined) {
    const fill = Buffer.from(`${background.slice(1)}ff`, 'hex');
    const put = opaque || raster.channels === 3 ? putOnWhite : putOnNothing;
    return rotateFrames(raster, rotation, raster.channels, put, fill);
  }
  const channels = opaque ? raster.channels : 4;
  return rotateFrames(raster, rotation, channels, opaque ? putOnWhite : putOnNothing);
}

/** A premultiplied overlay turned around its middle, in a box that holds its corners. */
export function rotateOverlay(overlay: Overlay, degrees: number): Overlay {
  if (degrees === 0) return overlay;
  const raster: Raster = { ...overlay, channels: 4, frames: 1 };
  const orientation = quarterTurns[degrees];
  const rotation = { degrees, ...rotatedSize(overlay, degrees) };
  const { data, width, height } = orientation
    ? orientRaster(raster, orientation)
    : rotateFrames(raster, rotation, 4, putPremultiplied);
  return { data, width, height };
}

function rotateFrames(
  raster: Raster,
  rotation: Rotation,
  channels: 3 | 4,
  put: PutPixel,
  fill?: Uint8Array,
): Raster {
  const { degrees, width, height } = rotation;
  const { width: w, height: h, frames } = raster;
  const { cos, sin } = directionOf(degrees);
  const empty = fill?.subarray(0, channels) ?? (put === putOnWhite ? 255 : 0);
  const data = Buffer.alloc(width * height * channels * frames, empty);
  for (let frame = 0, to = 0; frame < frames; frame++) {
    for (let y = 0; y < height; y++) {
      // Where the row's first pixel comes from: middle to middle, with pixels' middles at halves.
      let sourceX = cos * (0.5 - width / 2) + sin * (y + 0.5 - height / 2) + w / 2 - 0.5;
      let sourceY = -sin * (0.5 - width / 2) + cos * (y + 0.5 - height / 2) + h / 2 - 0.5;
      for (let x = 0; x < width; x++, to += channels, sourceX += cos, sourceY -= sin) {
        if (sourceX <= -1 || sourceY <= -1 || sourceX >= w || sourceY >= h) continue;
        sample(raster, frame, sourceX, sourceY, data, to, put, fill);
      }
    }
  }
  return { data, width, height, channels, frames };
}

/** The four pixels around a point, weighted by nearness. Spelt out, since a loop takes twice the time. */
function sample(
  source: Raster,
  frame: number,
  x: number,
  y: number,
  data: Uint8Array,
  to: number,
  put: PutPixel,
  fill: Uint8Array | undefined,
) {
  const { data: from, width, height, channels } = source;
  const left = Math.floor(x);
  const top = Math.floor(y);
  const west = left < 0 ? 0 : left + 1 - x;
  const east = left + 1 < width ? x - left : 0;
  const north = top < 0 ? 0 : top + 1 - y;
  const south = top + 1 < height ? y - top : 0;
  const firstRow = (frame * height + Math.max(top, 0)) * width;
  const secondRow = (frame * height + Math.min(top + 1, height - 1)) * width;
  const second = Math.min(left + 1, width - 1);
  const first = Math.max(left, 0);
  const a = (firstRow + first) * channels;
  const b = (firstRow + second) * channels;
  const c = (secondRow + first) * channels;
  const d = (secondRow + second) * channels;
  const premultiplied = put === putPremultiplied;
  const clear = channels === 4 && !premultiplied;
  const atA = north * west * (clear ? (from[a + 3] as number) / 255 : 1);
  const atB = north * east * (clear ? (from[b + 3] as number) / 255 : 1);
  const atC = south * west * (clear ? (from[c + 3] as number) / 255 : 1);
  const atD = south * east * (clear ? (from[d + 3] as number) / 255 : 1);
  const mix = (channel: number) =>
    (from[a + channel] as number) * atA +
    (from[b + channel] as number) * atB +
    (from[c + channel] as number) * atC +
    (from[d + channel] as number) * atD;
  const alpha = premultiplied ? mix(3) / 255 : atA + atB + atC + atD;
  if (fill === undefined) {
    put(data, to, mix(0), mix(1), mix(2), alpha);
    return;
  }
  const rest = 1 - (north + south) * (west + east);
  const filled = (channel: number) => mix(channel) + (fill[channel] as number) * rest;
  put(data, to, filled(0), filled(1), filled(2), alpha + rest);
}

const putPremultiplied: PutPixel = (data, to, red, green, blue, alpha) => {
  data[to] = red + 0.5;
  data[to + 1] = green + 0.5;
  data[to + 2] = blue + 0.5;
  data[to + 3] = alpha * 255 + 0.5;
};

export function directionOf(degrees: number): { cos: number; sin: number } {
  const angle = (degrees * Math.PI) / 180;
  return { cos: Math.cos(angle), sin: Math.sin(angle) };
}
