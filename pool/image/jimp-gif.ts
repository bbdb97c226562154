import { gifExtensionBlock, gifFrameBlock, gifTableBytes } from './header.js';
import type { Raster } from './raster.js';

const maxCodes = 4096;

/**
 * Unpacks GIF's LZW (GIF89a, appendix F) into `count` colour indexes. Throws where the stream is malformed or ends
 * early. Every code moves on in the stream and expands to a bounded run, so none can keep this busy.
 */
function unpackLzw(data: Uint8Array, minimumCodeSize: number, count: number): Uint8Array {
  if (minimumCodeSize < 1 || minimumCodeSize > 8) throw new Error('A GIF with an impossible code size.');
  const clear = 1 << minimumCodeSize;
  const prefix = new Uint16Array(maxCodes);
  const suffix = new Uint8Array(maxCodes);
  const length = new Uint16Array(maxCodes).fill(1, 0, clear);
  for (let code = 0; code < clear; code++) suffix[code] = code;

  const out = new Uint8Array(count);
  let written = 0;
  let next = clear + 2;
  let size = minimumCodeSize + 1;
  let previous = -1;
  let bits = 0;
  let held = 0;
  let at = 0;
  while (written < count) {
    while (held < size) {
      if (at >= data.length) throw new Error('A GIF that ends early.');
      bits |= (data[at++] as number) << held;
      held += 8;
    }
    const code = bits & ((1 << size) - 1);
    bits >>>= size;
    held -= size;
    if (code === clear) {
      next = clear + 2;
      size = minimumCodeSize + 1;
      previous = -1;
      continue;
    }
    if (code === clear + 1) throw new Error('A GIF that ends early.');
    if (previous < 0 ? code > clear : code > next) throw new Error('A GIF with an unknown code.');
    const known = previous < 0 || code < next;
    const from = known ? code : previous;
    const run = length[from] as number;
    const first = expand(from, written + run - 1);
    written += run;
    if (!known && written < count) out[written++] = first;
    if (previous >= 0 && next < maxCodes) {
      prefix[next] = previous;
      suffix[next] = first;
      length[next] = (length[previous] as number) + 1;
      next++;
      if (next === 1 << size && size < 12) size++;
    }
    previous = code;
  }
  return out;

  /** Writes a code's string backwards so that its last index lands at `end`; returns its first. */
  function expand(code: number, end: number): number {
    let current = code;
    for (let to = end; ; to--) {
      if (to < count) out[to] = suffix[current] as number;
      if (current < clear) return current;
      current = prefix[current] as number;
    }
  }
}

const graphicControl = 0xf9;

/**
 * Decodes the first frame to RGBA on a canvas of the header's size. Throws where the data is broken. Own code, since
 * omggif, which Jimp uses, runs for ever on some broken streams.
 */
export function decodeFirstGifFrame(bytes: Uint8Array, width: number, height: number): Raster {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  let palette = readPalette(bytes, 13, view.getUint8(10));
  let at = 13 + palette.length;
  let transparent = -1;
  while (view.getUint8(at) === gifExtensionBlock) {
    if (view.getUint8(at + 1) === graphicControl && view.getUint8(at + 3) & 1)
      transparent = view.getUint8(at + 6);
    at = readBlocks(bytes, at + 2).end;
  }
  if (view.getUint8(at) !== gifFrameBlock) throw new Error('A GIF without a frame.');
  const uint16 = (offset: number) => view.getUint16(at + offset, true);
  const [left, top, w, h] = [uint16(1), uint16(3), uint16(5), uint16(7)];
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

function readPalette(bytes: Uint8Array, at: number, flags: number): Uint8Array {
  return bytes.subarray(at, at + gifTableBytes(flags));
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
  const add = (first: number, step: number) => {
    for (let row = first; row < height; row += step) rows.push(row);
  };
  add(0, 8);
  add(4, 8);
  add(2, 4);
  add(1, 2);
  return rows;
}
