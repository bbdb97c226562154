import type { Orientation } from '../header/header.js';
import type { Raster } from '../raster.js';

/**
 * Turns and mirrors every frame as a picture of this orientation is to be shown. The eight cases are those of EXIF 2.32, tag
 * 0x0112: a mirror of the columns, a mirror of the rows and, from 5 on, an exchange of the two. 6, 3 and 8 are turns by 90, 180
 * and 270 degrees clockwise. Own code because Jimp turns by its own reading of the EXIF, and so that both engines turn alike.
 */
export function turnRaster(raster: Raster, orientation: Orientation): Raster {
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

/** Copies `count` pixels, taken `step` pixels apart from pixel `from` on, to pixel `to` and those that follow it. */
type CopyRow = (from: number, step: number, to: number, count: number) => void;

/** One word a pixel. A buffer cut from a pool may start between words; then it is copied. */
function pixelWords(source: Uint8Array, target: Uint8Array): CopyRow {
  const aligned = source.byteOffset % 4 === 0 ? source : source.slice();
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
