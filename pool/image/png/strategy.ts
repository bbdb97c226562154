import { readFileSync } from 'node:fs';
import { constants, deflateSync } from 'node:zlib';
import { endOfBlock, longestRun, runCodes, shortestRun, symbolCount } from './huffman.js';

/**
 * Filter types of PNG, section 9.2, own code as the encoder is. `paeth` is the packer's alone: in JavaScript it costs four times
 * the others.
 */
export const filters = { none: 0, sub: 1, up: 2, average: 3, paeth: 4 } as const;

export type FilterName = Exclude<keyof typeof filters, 'paeth'>;

/** What `filterRows` needs to know of the pixels: bytes in a row, bytes in a pixel. */
export interface RowShape {
  data: Uint8Array;
  stride: number;
  pixel: number;
}

/** `count` rows from `first`, each with its filter byte in front, as PNG compresses them. */
export function filterRows(rows: RowShape, name: FilterName, first: number, count: number): Buffer {
  const out = Buffer.allocUnsafe((rows.stride + 1) * count);
  for (let row = first, to = 0; row < first + count; row++, to += rows.stride + 1) {
    out[to] = filters[name];
    // Above the first row lie zeros, so there `up` leaves it as it is.
    if (name === 'none' || (name === 'up' && row === 0)) copyRow(rows, row, out, to + 1);
    else if (name === 'sub') subRow(rows, row, out, to + 1);
    else if (name === 'up') upRow(rows, row, out, to + 1);
    else averageRow(rows, row, out, to + 1);
  }
  return out;
}

function copyRow({ data, stride }: RowShape, row: number, out: Uint8Array, to: number): void {
  out.set(data.subarray(row * stride, (row + 1) * stride), to);
}

function subRow({ data, stride, pixel }: RowShape, row: number, out: Uint8Array, to: number): void {
  const at = row * stride;
  for (let i = 0; i < pixel; i++) out[to + i] = data[at + i] as number;
  for (let i = pixel; i < stride; i++) {
    out[to + i] = (data[at + i] as number) - (data[at + i - pixel] as number);
  }
}

function upRow({ data, stride }: RowShape, row: number, out: Uint8Array, to: number): void {
  const at = row * stride;
  for (let i = 0; i < stride; i++) {
    out[to + i] = (data[at + i] as number) - (data[at + i - stride] as number);
  }
}

/** Only the first row, which has none above, and the first pixel, which has none beside, are special. */
function averageRow({ data, stride, pixel }: RowShape, row: number, out: Uint8Array, to: number): void {
  const at = row * stride;
  if (row === 0) {
    for (let i = 0; i < stride; i++) {
      out[to + i] = (data[i] as number) - (i < pixel ? 0 : (data[i - pixel] as number) >> 1);
    }
    return;
  }
  const above = at - stride;
  for (let i = 0; i < pixel; i++) {
    out[to + i] = (data[at + i] as number) - ((data[above + i] as number) >> 1);
  }
  for (let i = pixel; i < stride; i++) {
    const both = (data[at + i - pixel] as number) + (data[above + i] as number);
    out[to + i] = (data[at + i] as number) - (both >> 1);
  }
}

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
const headsAt = runCodesAt + 1280;
const headCount = 4096;
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

const sampleCount = 4;
const largestSample = 16_384;

/**
 * Four parts of a picture, spread over its rows but not at their ends, where a border would be; 3 % of the picture or
 * 64 KB. Each is a small picture of its own, whose first row is what lies above it.
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

/** How a picture's rows are filtered and then deflated. */
export interface ZlibStrategy {
  filter: FilterName;
  packing: PackingName;
}

/**
 * Ways to deflate, quickest first, each with what one byte of its output counts for: a slower way has to earn its
 * CPU by fewer bytes. Measured on 13 MB of photograph: 56, 80, 100 and 400 ms.
 */
const packings = {
  huffman: { level: 1, strategy: constants.Z_HUFFMAN_ONLY, weight: 1 },
  runs: { level: 1, strategy: constants.Z_RLE, weight: 1.08 },
  matches: { level: 1, strategy: constants.Z_DEFAULT_STRATEGY, weight: 1.16 },
  thorough: { level: 6, strategy: constants.Z_DEFAULT_STRATEGY, weight: 1.25 },
} as const;

type PackingName = keyof typeof packings;

/** The zlib stream of filtered rows. */
export function deflateRows(filtered: Uint8Array, packing: PackingName): Buffer {
  const { level, strategy } = packings[packing];
  return deflateSync(filtered, {
    level,
    strategy,
    memLevel: 9,
    chunkSize: Math.min(filtered.length + 1024, 1024 * 1024),
  });
}

/** What a strategy makes of a sample. */
interface Trial extends ZlibStrategy {
  /** Bytes. */
  size: number;
  /** The same, with what they count for. */
  cost: number;
}

/**
 * Tries the filters and then the packings on a sample. A photograph compresses by the differences of neighbours and hardly
 * repeats; a drawing repeats, and differences only hide it. Own code as the encoder is.
 */
export function tryStrategies(samples: readonly RowShape[]): ZlibStrategy {
  const trials = (['up', 'sub', 'average'] as const).map((filter) => tryStrategy(samples, filter, 'huffman'));
  const { filter } = trials.reduce(cheaper);
  return [
    tryStrategy(samples, 'none', 'thorough'),
    ...trials,
    tryStrategy(samples, filter, 'runs'),
    tryStrategy(samples, filter, 'matches'),
  ].reduce(cheaper);
}

/** Deflates a sample. */
export function tryStrategy(samples: readonly RowShape[], filter: FilterName, packing: PackingName): Trial {
  const sample = Buffer.concat(samples.map((sample) => filterRows(sample, filter, 1, sampleRows(sample))));
  const size = deflateRows(sample, packing).length;
  return { filter, packing, size, cost: costOf(size, sample.length, packing) };
}

function cheaper(best: Trial, next: Trial): Trial {
  return next.cost < best.cost ? next : best;
}

/** Where little is left to write, thoroughness is the quickest way, and the bytes are few in any way. */
function costOf(size: number, from: number, packing: PackingName): number {
  return packing === 'thorough' && size * 8 < from ? size / 2 : size * packings[packing].weight;
}

/** How a picture is packed, as far as the statistics of a sample say. */
type PackingChoice = { packing: 'strips' } | ZlibStrategy | Unclear;

interface Unclear {
  packing: 'unclear';
  /** Bytes that the sample would take in strips, by its entropy, as one block. */
  size: number;
}

const thorough: ZlibStrategy = { filter: 'none', packing: 'thorough' };
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
 * Decides by the entropy of filtered bytes, and by a rough price of what matches would make of them, and of the rows as they
 * are: in a photograph hardly anything repeats, a drawing does, and differences hide it. A sample of few bits promises too
 * little, for matches lie farther back. What repeats as differences, like the three equal bytes of a grey pixel, is matched so.
 */
export function choosePacking(packer: Packer, samples: readonly RowShape[]): PackingChoice {
  const kinds = [...simple.map((filter) => filters[filter]), filters.paeth];
  const tallies = kinds.map((kind) => tallyOf(packer, samples, kind));
  const sizes = tallies.map(entropyOf);
  const own = Math.min(...sizes);
  const simpleSizes = sizes.slice(0, simple.length);
  const filter = simple[simpleSizes.indexOf(Math.min(...simpleSizes))] as FilterName;
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
  return { packing: 'unclear', size: own / 8 + headBytes };
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

/** Bits, about, with matches in sample of repeats, where a byte that is none takes what it has of entropy. */
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
