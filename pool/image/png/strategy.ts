import { readFileSync } from 'node:fs';
import { constants, deflateSync } from 'node:zlib';
import type { Raster } from '../raster.js';
import { endOfBlock, longestRun, runCodes, shortestRun, symbolCount } from './huffman.js';

/** Filter types of PNG, section 9.2. */
export const filters = { none: 0, sub: 1, up: 2, average: 3, paeth: 4 } as const;

/** What filters need to know of the pixels: bytes in a row, bytes in a pixel. */
export interface RowShape {
  data: Uint8Array;
  stride: number;
  pixel: number;
}

/** `count` rows from `first`, each with its filter byte in front; all other filters are the packer's. */
export function filterRows(
  { data, stride }: RowShape,
  name: 'none' | 'up',
  first: number,
  count: number,
): Buffer {
  const out = Buffer.allocUnsafe((stride + 1) * count);
  for (let row = first, to = 0; row < first + count; row++) {
    const at = row * stride;
    out[to++] = filters[name];
    out.set(data.subarray(at, at + stride), to);
    // Above the first row lie zeros.
    const changed = name === 'up' && row > 0 ? stride : 0;
    for (let i = 0; i < changed; i++) {
      out[to + i] = (data[at + i] as number) - (data[at + i - stride] as number);
    }
    to += stride;
  }
  return out;
}

/** What `wasm/packer.ts` exports; its comments say what each does. Places are addresses in `memory`. */
export interface Packer {
  memory: { buffer: ArrayBuffer };
  bytes: Uint8Array;
  words: Uint32Array;
  /** Where the next whole byte of the stream goes; may be set back once the bytes before it are copied. */
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

/** The longest strip: bytes of filtered rows that are packed as one block, and of a row that is longer, a part. */
export const stripBytes = 128 * 1024;

/** What the longest code of a byte may have of bits; four of them go through 64 bits at once. */
export const longestCode = 14;

/** How the memory is laid out: tables, the rows as they are and those above them, the same filtered, and packed. */
export const countsAt = 0;
export const runsAt = countsAt + 4096;
export const codesAt = runsAt + 1280;
export const runCodesAt = codesAt + 1024;
const headsAt = runCodesAt + 1280;
const headCount = 4096;
export const inputAt = headsAt + 4 * headCount;
/** Loops of 16 bytes run over the end. */
const slack = 64;
export const filteredAt = inputAt + 2 * stripBytes + slack;
export const outAt = filteredAt + stripBytes + slack;

let packer: Packer | undefined;
let isSought = false;

/** The thread's own, made when it is first asked for; undefined where there is no WebAssembly or not its SIMD. */
export function findPacker(): Packer | undefined {
  if (isSought) return packer;
  isSought = true;
  // With --jitless there is no such name at all.
  if (typeof WebAssembly === 'undefined') return undefined;
  // It lies in the source tree; the compiler leaves it there.
  const file = new URL('pool/image/png/wasm/packer.wasm', import.meta.resolve('helper-gateway/package.json'));
  const code = readFileSync(file);
  if (!WebAssembly.validate(code)) return undefined;
  const exports = new WebAssembly.Instance(new WebAssembly.Module(code)).exports as unknown as Packer;
  const { buffer } = exports.memory;
  packer = { ...exports, bytes: new Uint8Array(buffer), words: new Uint32Array(buffer) };
  return packer;
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

/** The distance's bit, and the extra bits of a length. */
const averageExtraBits = 4;

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

const sampleCount = 4;
const largestSample = 16_384;

/**
 * Four parts of a picture, spread over its rows but not at its ends, where a border would be: 3 % of it, at most 64 KB.
 * Each is a picture of its own, whose first row is what lies above.
 */
export function takeSamples({ data, stride, pixel }: RowShape, height: number): RowShape[] {
  const bytes = Math.min(Math.max((stride * height) / 128, 2048), largestSample);
  const count = Math.min(Math.max(2, Math.ceil(bytes / stride)), height);
  const length = Math.min(stride, Math.floor(largestSample / pixel) * pixel);
  const firsts = Array.from({ length: sampleCount }, (_, i) =>
    Math.floor(((height - count) * (i + 0.5)) / sampleCount),
  );
  return [...new Set(firsts)].map((first) => {
    const sample = new Uint8Array((count + 1) * length);
    for (let row = first === 0 ? 1 : 0; row <= count; row++) {
      const at = (first - 1 + row) * stride + Math.floor((stride - length) / pixel / 2) * pixel;
      sample.set(data.subarray(at, at + length), row * length);
    }
    return { data: sample, stride: length, pixel };
  });
}

/** Rows of a sample, without the one above. */
function sampleRows({ data, stride }: RowShape): number {
  return data.length / stride - 1;
}

/** Ways to deflate, quickest first: on 13 MB of photograph they take 56, 80, 100 and 400 ms. */
const packings = {
  huffman: { level: 1, strategy: constants.Z_HUFFMAN_ONLY },
  runs: { level: 1, strategy: constants.Z_RLE },
  matches: { level: 1, strategy: constants.Z_DEFAULT_STRATEGY },
  thorough: { level: 6, strategy: constants.Z_DEFAULT_STRATEGY },
};

type PackingName = keyof typeof packings;

/** How rows are filtered and deflated: in strips by the packer, or with one filter by zlib. */
export type PngStrategy =
  | { packing: 'strips' }
  | { packing: PackingName; filter: Exclude<keyof typeof filters, 'paeth'> };

/** The zlib stream of filtered rows. */
export function deflateRows(filtered: Uint8Array, packing: PackingName): Buffer {
  const chunkSize = Math.min(filtered.length + 1024, 1024 * 1024);
  return deflateSync(filtered, { ...packings[packing], memLevel: 9, chunkSize });
}

const thorough = { filter: 'none', packing: 'thorough' } as const;
const differences = { filter: 'up', packing: 'huffman' } as const;

/** Bytes that samples take so. */
function sizeOf(samples: readonly RowShape[], { filter, packing }: typeof thorough | typeof differences) {
  const rows = samples.map((sample) => filterRows(sample, filter, 1, sampleRows(sample)));
  return deflateRows(Buffer.concat(rows), packing).length;
}

/** Bytes that strips, and differences by zlib, may have for 1 of thoroughness's: they cost far less CPU. */
const allowances = { strips: 1.02, differences: 1.25 };
const simple = ['sub', 'up', 'average'] as const;
/** Bits a byte of what is drawn, not photographed; of so few, most are runs, of which matches make less still. */
const drawnBits = 0.5;
/** How much a filter saves where it leaves nothing of a gradient but runs. */
const smoothness = 16;
/** Bits a byte from which on grain, not repeats, fills the file. */
const grainBits = 2;
/** About the size of a block's codes. */
const headBytes = 80;
/** Shares of the strips' size: what matches promise where they are surely better, and from which on strips are. */
const ofUnfiltered = { few: [1.3, Number.POSITIVE_INFINITY], many: [0.9, 1] } as const;
/** The same of filtered rows. */
const ofFiltered = 0.88;

/**
 * The way that suits this picture; deterministic. By the entropy of a sample's filtered bytes, and a rough price of
 * what matches would make of them and of the rows as they are. A photograph hardly repeats; a drawing does, and
 * differences hide that, except for the three equal bytes of a grey pixel. The sample is deflated only where that leaves
 * a doubt, or there is no packer.
 */
export function choosePngStrategy({ data, width, height, channels }: Raster): PngStrategy {
  const samples = takeSamples({ data, stride: width * channels, pixel: channels }, height);
  const packer = findPacker();
  if (!packer) {
    const most = sizeOf(samples, thorough) * allowances.differences;
    return sizeOf(samples, differences) < most ? differences : thorough;
  }
  const kinds = [...simple.map((filter) => filters[filter]), filters.paeth];
  const tallies = kinds.map((kind) => tallyOf(packer, samples, kind));
  const sizes = tallies.map(entropyOf);
  const own = Math.min(...sizes);
  const simpleSizes = sizes.slice(0, simple.length);
  const filter = simple[simpleSizes.indexOf(Math.min(...simpleSizes))] as (typeof simple)[number];
  const bits = own / samples.reduce((sum, sample) => sum + sample.stride * sampleRows(sample), 0);
  const unfiltered = tallyOf(packer, samples, filters.none);
  if (bits < drawnBits)
    return entropyOf(unfiltered) < smoothness * own ? thorough : { filter, packing: 'runs' };
  const share = priceOfMatches(packer, samples, filters.none, unfiltered) / own;
  const [drawn, photographed] = ofUnfiltered[bits < grainBits ? 'few' : 'many'];
  if (share < drawn) return thorough;
  const best = sizes.indexOf(own);
  const promised = priceOfMatches(packer, samples, kinds[best] as number, tallies[best] as Uint32Array);
  if (bits >= grainBits && promised < ofFiltered * own) return { filter, packing: 'matches' };
  if (share >= photographed) return { packing: 'strips' };
  const inStrips = own / 8 + headBytes;
  return inStrips < sizeOf(samples, thorough) * allowances.strips ? { packing: 'strips' } : thorough;
}

/** Filters a sample to `filteredAt`; gives its bytes there. */
function filterSample(packer: Packer, sample: RowShape, kind: number): number {
  const { data, stride, pixel } = sample;
  const rows = sampleRows(sample);
  packer.bytes.set(data, inputAt);
  packer.filter(kind, inputAt + stride, inputAt, rows, stride, pixel, pixel, filteredAt);
  return rows * (stride + 1);
}

function tallyOf(packer: Packer, samples: readonly RowShape[], kind: number): Uint32Array {
  for (const sample of samples) {
    packer.count(filteredAt, filterSample(packer, sample, kind), sample.pixel, countsAt, runsAt);
  }
  return readTally(packer);
}

/** Bits, about, with matches in sample of repeats, where any other byte costs its entropy. */
function priceOfMatches(
  packer: Packer,
  samples: readonly RowShape[],
  kind: number,
  tally: Uint32Array,
): number {
  const { words } = packer;
  const bytes = tally.subarray(0, endOfBlock);
  const total = Math.log2(bytes.reduce((sum, weight) => sum + weight, 0));
  for (const [byte, weight] of bytes.entries()) {
    words[codesAt / 4 + byte] = 16 * Math.min(Math.max(total - Math.log2(weight), 1), longestCode);
  }
  let price = 0;
  for (const sample of samples) {
    const length = filterSample(packer, sample, kind);
    words.fill(0, headsAt / 4, headsAt / 4 + headCount);
    price += packer.priceOfMatches(filteredAt, length, codesAt, headsAt);
  }
  return price / 16;
}
