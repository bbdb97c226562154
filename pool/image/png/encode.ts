import { crc32 } from 'node:zlib';
import type { Raster } from '../raster.js';
import { filterRows, type RowShape } from './filter.js';
import { judge } from './judge.js';
import { findPacker, type Packer } from './packer.js';
import { samplePlaces } from './sample.js';
import { deflateRows, tryStrategies, tryStrategy, type ZlibStrategy } from './strategy.js';
import { packRows } from './strips.js';

const signature = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);
const rgb = 2;
const rgba = 6;

/** What strips may have of bytes where thoroughness has 1: they cost a fifth to a half of its CPU. */
const stripsAllowance = 1.02;

/** In strips by the thread's packer, or with one filter for the whole picture by zlib. */
export type Strategy = ZlibStrategy | { packing: 'strips'; packer: Packer };

/**
 * The way that suits this picture; deterministic. The packer's statistics of a sample tell what is photographed and what is
 * drawn; only between the two the sample is deflated to see, and without a packer always.
 */
export function choosePngStrategy({ data, width, height, channels }: Raster): Strategy {
  const places = samplePlaces({ data, stride: width * channels, pixel: channels }, height);
  const packer = findPacker();
  if (!packer) return tryStrategies(places);
  const judgement = judge(packer, places);
  if (judgement.packing === 'strips') return { packing: 'strips', packer };
  if (judgement.packing !== 'unclear') return judgement;
  const other = tryStrategy(places, 'none', 'thorough');
  return judgement.size < other.size * stripsAllowance ? { packing: 'strips', packer } : other;
}

/**
 * Encodes the first frame as a PNG (8 bit RGB or RGBA, not interlaced). Lossless like any other, but photographs, in which
 * nothing repeats, have a Huffman code alone, for a few percent of the CPU of libpng's defaults and fewer bytes. Own code
 * because sharp leaves neither filter nor packing to choose; both engines write with it.
 */
export function encodePng(raster: Raster, strategy = choosePngStrategy(raster)): Uint8Array {
  const { data, width, height, channels } = raster;
  const rows = { data, stride: width * channels, pixel: channels };
  const header = Buffer.alloc(13);
  header.writeUInt32BE(width, 0);
  header.writeUInt32BE(height, 4);
  header[8] = 8;
  header[9] = channels === 4 ? rgba : rgb;
  return join([
    signature,
    ...chunk('IHDR', [header]),
    ...chunk('IDAT', pack(rows, height, strategy)),
    ...chunk('IEND', []),
  ]);
}

function pack(rows: RowShape, height: number, strategy: Strategy): Uint8Array[] {
  if (strategy.packing === 'strips') return packRows(strategy.packer, rows, height);
  return [deflateRows(filterRows(rows, strategy.filter, 0, height), strategy.packing)];
}

function chunk(name: string, body: Uint8Array[]): Uint8Array[] {
  const head = Buffer.alloc(8);
  head.writeUInt32BE(lengthOf(body), 0);
  head.write(name, 4, 'latin1');
  const sum = Buffer.alloc(4);
  sum.writeUInt32BE(
    body.reduce((sum, part) => crc32(part, sum), crc32(head.subarray(4))),
    0,
  );
  return [head, ...body, sum];
}

function lengthOf(parts: Uint8Array[]): number {
  return parts.reduce((total, part) => total + part.length, 0);
}

/** Not `Buffer.concat`, whose small results lie in memory that is shared. */
function join(parts: Uint8Array[]): Uint8Array {
  const whole = new Uint8Array(lengthOf(parts));
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}
