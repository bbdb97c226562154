import { extensionBlock, frameBlock, tableBytes } from '../../header/gif.js';
import type { Raster } from '../../raster.js';
import { unpackLzw } from './lzw.js';

const graphicControl = 0xf9;

/**
 * Decodes the first frame of a GIF to RGBA on a transparent canvas of `width` × `height`, which must hold it (the
 * header's size does). Throws where the data is broken. Own code, since omggif, which Jimp uses, runs for ever on
 * some broken streams and writes to the console on others.
 */
export function decodeFirstGifFrame(bytes: Uint8Array, width: number, height: number): Raster {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  let palette = readPalette(bytes, 13, view.getUint8(10));
  let at = 13 + palette.length;
  let transparent = -1;
  while (view.getUint8(at) === extensionBlock) {
    if (view.getUint8(at + 1) === graphicControl && view.getUint8(at + 3) & 1)
      transparent = view.getUint8(at + 6);
    at = readBlocks(bytes, at + 2).end;
  }
  if (view.getUint8(at) !== frameBlock) throw new Error('A GIF without a frame.');
  const [left, top, w, h] = [1, 3, 5, 7].map((offset) => view.getUint16(at + offset, true)) as Rectangle;
  const flags = view.getUint8(at + 9);
  const local = readPalette(bytes, at + 10, flags);
  if (local.length > 0) palette = local;
  at += 10 + local.length;
  const packed = readBlocks(bytes, at + 1).data;
  const indexes = unpackLzw(packed, view.getUint8(at), w * h);

  const data = new Uint8Array(width * height * 4);
  const rows = flags & 0x40 ? interlacedRows(h) : undefined;
  for (let row = 0, from = 0; row < h; row++) {
    let to = ((top + (rows ? (rows[row] as number) : row)) * width + left) * 4;
    for (let column = 0; column < w; column++, to += 4) {
      const index = indexes[from++] as number;
      if (index === transparent) continue;
      data.set(palette.subarray(index * 3, index * 3 + 3), to);
      data[to + 3] = 255;
    }
  }
  return { data, width, height, channels: 4, frames: 1 };
}

type Rectangle = [left: number, top: number, width: number, height: number];

function readPalette(bytes: Uint8Array, at: number, flags: number): Uint8Array {
  return bytes.subarray(at, at + tableBytes(flags));
}

/** The data of a chain of sub-blocks, and where the next block starts. */
function readBlocks(bytes: Uint8Array, from: number): { data: Uint8Array; end: number } {
  const parts: Uint8Array[] = [];
  let at = from;
  let size = bytes[at];
  while (size) {
    parts.push(bytes.subarray(at + 1, at + 1 + size));
    at += 1 + size;
    size = bytes[at];
  }
  return { data: Buffer.concat(parts), end: at + 1 };
}

/** Rows in the order in which an interlaced frame stores them: every eighth, those between, and so on. */
function interlacedRows(height: number): number[] {
  const rows: number[] = [];
  for (const [first, step] of [
    [0, 8],
    [4, 8],
    [2, 4],
    [1, 2],
  ] as const) {
    for (let row = first; row < height; row += step) rows.push(row);
  }
  return rows;
}
