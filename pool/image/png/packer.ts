import { readFileSync } from 'node:fs';
import { endOfBlock, longestRun, runCodes, shortestRun, symbolCount } from './huffman.js';

/** What `wasm/packer.ts` exports; its comments say what each does. Places are addresses in `memory`. */
interface PackerExports {
  memory: { buffer: ArrayBuffer };
  /** Where the next whole byte of the stream goes; may be set back once the bytes before it are taken. */
  out: { value: number };
  begin(to: number): void;
  align(): void;
  put(value: number, count: number): void;
  filter(
    kind: number,
    from: number,
    above: number,
    rows: number,
    length: number,
    lead: number,
    pixel: number,
    to: number,
  ): void;
  adler(sum: number, from: number, length: number): number;
  count(from: number, length: number, distance: number, counts: number, runs: number): void;
  priceOfMatches(from: number, length: number, costs: number, heads: number): number;
  pack(from: number, length: number, distance: number, codes: number, runs: number): void;
}

export interface Packer extends PackerExports {
  bytes: Uint8Array;
  words: Uint32Array;
}

/** The longest strip: bytes of filtered rows that are packed as one block, and of a row that is longer, a part. */
export const stripBytes = 128 * 1024;

/** What the longest code of a byte may have of bits; four of them go through 64 bits at once. */
export const longestCode = 14;

/** How the memory is laid out: tables, the rows as they are and those above them, the same filtered, and packed. */
export const countsAt = 0;
export const runsAt = countsAt + 4096;
export const codesAt = runsAt + 1280;
export const runCodesAt = codesAt + 1024;
export const headsAt = runCodesAt + 1280;
export const headCount = 4096;
export const inputAt = headsAt + 4 * headCount;
/** Loops of 16 bytes run over the end. */
const slack = 64;
export const filteredAt = inputAt + 2 * stripBytes + slack;
export const outAt = filteredAt + stripBytes + slack;

/** It lies in the source tree; the compiler leaves it there. */
const file = new URL('pool/image/png/wasm/packer.wasm', import.meta.resolve('helper-gateway/package.json'));
let packer: Packer | undefined;

/** The thread's own, made when it is first asked for; undefined where there is no WebAssembly or not its SIMD. */
export function findPacker(): Packer | undefined {
  packer ??= start();
  return packer;
}

function start(): Packer | undefined {
  // With --jitless there is no such name at all.
  if (typeof WebAssembly === 'undefined') return undefined;
  const code = readFileSync(file);
  if (!WebAssembly.validate(code)) return undefined;
  const exports = new WebAssembly.Instance(new WebAssembly.Module(code)).exports as unknown as PackerExports;
  const { buffer } = exports.memory;
  return { ...exports, bytes: new Uint8Array(buffer), words: new Uint32Array(buffer) };
}

const byteCount = 256;
const runSymbols = Uint16Array.from(runCodes, ({ symbol }) => symbol);

/** How often deflate's symbols stand in what was counted since the last reading; the end of the block once. */
export function readTally({ words }: Packer): Uint32Array {
  const weights = new Uint32Array(symbolCount);
  const bytes = countsAt / 4;
  for (let table = bytes; table < bytes + 4 * byteCount; table += byteCount) {
    for (let i = 0; i < byteCount; i++) weights[i] = (weights[i] as number) + (words[table + i] as number);
  }
  const runs = runsAt / 4;
  for (let length = shortestRun; length <= longestRun; length++) {
    const symbol = runSymbols[length] as number;
    weights[symbol] = (weights[symbol] as number) + (words[runs + length] as number);
  }
  weights[endOfBlock] = 1;
  words.fill(0, bytes, runs + longestRun + 1);
  return weights;
}

/** Bits that symbols take at best, by Shannon's entropy; a run has some more behind its symbol. */
export function entropyOf(weights: Uint32Array): number {
  let total = 0;
  let bits = 0;
  let runs = 0;
  for (let symbol = 0; symbol < weights.length; symbol++) {
    const weight = weights[symbol] as number;
    if (weight === 0) continue;
    total += weight;
    bits -= weight * Math.log2(weight);
    if (symbol > endOfBlock) runs += weight;
  }
  return bits + total * Math.log2(total) + runs * averageExtraBits;
}

/** The distance's bit, and the extra bits of a length. */
const averageExtraBits = 4;
