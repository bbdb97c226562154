import { deflateSync, type ZlibOptions } from 'node:zlib';
import { type FilterName, filterRows, type RowShape } from './filter.js';

export interface Strategy {
  filter: FilterName;
  level: number;
}

/** Photographs compress by their differences, drawings by their repetitions. */
const photo: Strategy[] = [
  { filter: 'up', level: 1 },
  { filter: 'sub', level: 1 },
  { filter: 'average', level: 1 },
];
const drawing: Strategy = { filter: 'none', level: 6 };

const STRIPS = 4;
const STRIP_BYTES = 24 * 1024;

/** Whole-buffer zlib with few, large output blocks. */
export function compress(data: Uint8Array, level: number): Buffer {
  const options: ZlibOptions = { level, memLevel: 9, chunkSize: 1024 * 1024 };
  return deflateSync(data, options);
}

/**
 * Tries each way on four strips spread over the rows, some 100 KB in all, and takes the one that comes out
 * smallest. The drawing's way is slower on a photograph, so it must win clearly.
 */
export function chooseStrategy(rows: RowShape, height: number): Strategy {
  const smallest = photo
    .map((strategy) => ({ strategy, size: sampleSize(rows, height, strategy) }))
    .reduce((best, next) => (next.size < best.size ? next : best));
  return sampleSize(rows, height, drawing) < 0.9 * smallest.size ? drawing : smallest.strategy;
}

function sampleSize(rows: RowShape, height: number, { filter, level }: Strategy): number {
  const count = Math.min(Math.max(2, Math.ceil(STRIP_BYTES / rows.stride)), height);
  const starts = Array.from({ length: STRIPS }, (_, i) => Math.floor(((height - count) * i) / (STRIPS - 1)));
  const strips = [...new Set(starts)].map((start) => filterRows(rows, filter, start, count));
  return deflateSync(Buffer.concat(strips), { level }).length;
}
