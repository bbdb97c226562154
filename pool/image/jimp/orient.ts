import type { Orientation } from '../header/header.js';
import type { Raster } from '../raster.js';

/**
 * Turns one RGBA frame upright. The eight cases are those of EXIF 2.32, tag 0x0112: a mirror of the columns, a
 * mirror of the rows and, from 5 on, an exchange of the two. Own code because Jimp turns by its own reading of the EXIF.
 */
export function orientRaster(raster: Raster, orientation: Orientation): Raster {
  if (orientation === 1) return raster;
  const { width: w, height: h } = raster;
  const source = asWords(raster.data);
  const turned = new Uint32Array(w * h);
  const swap = orientation > 4;
  const width = swap ? h : w;
  const height = swap ? w : h;
  const mirrorX = [2, 3, 7, 8].includes(orientation);
  const mirrorY = [3, 4, 6, 7].includes(orientation);
  // One step to the right in the result is a step along a row of the source or, exchanged, along a column.
  const stepX = swap ? (mirrorY ? -w : w) : mirrorX ? -1 : 1;
  const stepY = swap ? (mirrorX ? -1 : 1) : mirrorY ? -w : w;
  let row = (mirrorX ? w - 1 : 0) + (mirrorY ? (h - 1) * w : 0);
  for (let y = 0, to = 0; y < height; y++, row += stepY) {
    for (let x = 0, from = row; x < width; x++, from += stepX) turned[to++] = source[from] as number;
  }
  return { ...raster, data: new Uint8Array(turned.buffer), width, height };
}

/** One word a pixel. A buffer cut from a pool may start between words; then it is copied. */
function asWords(data: Uint8Array): Uint32Array {
  const aligned = data.byteOffset % 4 === 0 ? data : data.slice();
  return new Uint32Array(aligned.buffer, aligned.byteOffset, aligned.byteLength / 4);
}
