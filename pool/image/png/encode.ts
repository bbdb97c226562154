import { crc32 } from 'node:zlib';
import type { Raster } from '../raster.js';
import {
  canonicalCodes,
  codeLengths,
  endOfBlock,
  longestRun,
  putHead,
  runCodes,
  shortestRun,
} from './huffman.js';
import {
  choosePngStrategy,
  codesAt,
  countsAt,
  deflateRows,
  entropyOf,
  filteredAt,
  filterRows,
  filters,
  findPacker,
  inputAt,
  longestCode,
  outAt,
  type Packer,
  type PngStrategy,
  type RowShape,
  readTally,
  runCodesAt,
  runsAt,
  stripBytes,
} from './strategy.js';

const signature = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);
const rgb = 2;
const rgba = 6;

/**
 * Encodes the first frame as a PNG (8 bit RGB or RGBA). Photographs have a Huffman code alone, for a few percent of the
 * CPU of libpng's defaults and fewer bytes. Own code because sharp leaves neither filter nor packing to choose.
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

function pack(rows: RowShape, height: number, strategy: PngStrategy): Uint8Array[] {
  const packer = findPacker() as Packer;
  if (strategy.packing === 'strips') return packRows(packer, rows, height);
  const { filter, packing } = strategy;
  const filtered =
    filter === 'none' || (filter === 'up' && !packer)
      ? filterRows(rows, filter, 0, height)
      : filterInStrips(packer, filters[filter], rows, height);
  return [deflateRows(filtered, packing)];
}

function chunk(name: string, body: Uint8Array[]): Uint8Array[] {
  const head = Buffer.alloc(8);
  head.writeUInt32BE(lengthOf(body), 0);
  head.write(name, 4, 'latin1');
  const end = Buffer.alloc(4);
  const sum = body.reduce((crc, part) => crc32(part, crc), crc32(head.subarray(4)));
  end.writeUInt32BE(sum, 0);
  return [head, ...body, end];
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

/** Appends the first `length` filtered bytes as one block of deflate with codes of its own. */
function packBlock(packer: Packer, length: number, pixel: number, last: boolean): void {
  packer.count(filteredAt, length, pixel, countsAt, runsAt);
  const lengths = codeLengths(readTally(packer), longestCode);
  const codes = canonicalCodes(lengths);
  putHead((value, count) => packer.put(value, count), last, lengths, pixel);
  writeCodes(packer, lengths, codes);
  packer.pack(filteredAt, length, pixel, codesAt, runCodesAt);
  packer.put(codes[endOfBlock] as number, lengths[endOfBlock] as number);
  if (last) packer.align();
}

/** The two tables that the packing loop reads: 6 bits of length, and above them what is sent. */
function writeCodes({ words }: Packer, lengths: Uint8Array, codes: Uint16Array): void {
  for (let i = 0; i < endOfBlock; i++) {
    words[codesAt / 4 + i] = (lengths[i] as number) | ((codes[i] as number) << 6);
  }
  for (let length = shortestRun; length <= longestRun; length++) {
    const { symbol, extra, extraBits } = runCodes[length] as (typeof runCodes)[number];
    const bits = lengths[symbol] as number;
    // Of the two distances in the head, the second is the pixel's.
    const sent = (codes[symbol] as number) | (extra << bits) | (1 << (bits + extraBits));
    words[runCodesAt / 4 + length] = (bits + extraBits + 1) | (sent << 6);
  }
}

/** Whole rows, or a part of one that is too long. */
interface Strip {
  row: number;
  rows: number;
  /** Bytes of the row before the part. */
  from: number;
  length: number;
}

/** PNG's filters but `none`: where that is best, what follows is not for this packer. */
const kinds = [filters.sub, filters.up, filters.average, filters.paeth] as const;
/** Rows of a strip by which its filter is chosen. */
const sampledRows = 4;
/** Deflate with a window of 32 KB, at its fastest: RFC 1950. */
const zlibHead = 0x0178;

/**
 * The zlib stream of a picture's rows. Each strip has the filter that leaves the least entropy and a Huffman code of
 * its own; of repeats only those of the pixel before are used.
 */
function packRows(packer: Packer, rows: RowShape, height: number): Uint8Array[] {
  const parts: Uint8Array[] = [];
  const sum = Buffer.alloc(4);
  let adler = 1;
  let kind = 0;
  packer.begin(outAt);
  packer.put(zlibHead, 16);
  for (const strip of stripsOf(rows.stride, height)) {
    const input = loadStrip(packer, rows, strip);
    if (strip.from === 0) kind = bestKind(packer, input, strip, rows.pixel);
    const length = filterStrip(packer, kind, input, strip, rows.pixel);
    adler = packer.adler(adler, filteredAt, length);
    const last = strip.row + strip.rows === height && strip.from + strip.length === rows.stride;
    packBlock(packer, length, rows.pixel, last);
    parts.push(packer.bytes.slice(outAt, packer.out.value));
    packer.out.value = outAt;
  }
  sum.writeInt32BE(adler);
  return [...parts, sum];
}

/** All rows with one filter. */
function filterInStrips(packer: Packer, kind: number, rows: RowShape, height: number): Uint8Array {
  const out = Buffer.allocUnsafe((rows.stride + 1) * height);
  let to = 0;
  for (const strip of stripsOf(rows.stride, height)) {
    const length = filterStrip(packer, kind, loadStrip(packer, rows, strip), strip, rows.pixel);
    out.set(packer.bytes.subarray(filteredAt, filteredAt + length), to);
    to += length;
  }
  return out;
}

function* stripsOf(stride: number, height: number): Generator<Strip> {
  const rows = Math.floor(stripBytes / (stride + 1));
  for (let row = 0; rows > 0 && row < height; row += rows) {
    yield { row, rows: Math.min(rows, height - row), from: 0, length: stride };
  }
  if (rows > 0) return;
  const longest = stripBytes - 1;
  for (let row = 0; row < height; row++) {
    for (let from = 0; from < stride; from += longest) {
      yield { row, rows: 1, from, length: Math.min(longest, stride - from) };
    }
  }
}

interface Input {
  /** Where the strip begins, and what lies above it. */
  at: number;
  above: number;
}

/** Copies a strip and the row above it; a part of a row has the pixel before it in front. */
function loadStrip({ bytes }: Packer, { data, stride, pixel }: RowShape, strip: Strip): Input {
  const beside = strip.from > 0 ? pixel : 0;
  const above = inputAt + beside;
  const at = above + strip.length + beside;
  const start = strip.row * stride + strip.from - beside;
  const end = (strip.row + strip.rows - 1) * stride + strip.from + strip.length;
  if (strip.row === 0) bytes.fill(0, inputAt, at);
  else bytes.set(data.subarray(start - stride, start - stride + beside + strip.length), inputAt);
  bytes.set(data.subarray(start, end), at - beside);
  return { at, above };
}

/** Filters to `filteredAt`; gives how many bytes there are now. */
function filterStrip(
  packer: Packer,
  kind: number,
  { at, above }: Input,
  strip: Strip,
  pixel: number,
): number {
  const lead = strip.from > 0 ? 0 : pixel;
  packer.filter(kind, at, above, strip.rows, strip.length, lead, pixel, filteredAt);
  return strip.rows * (strip.length + Math.sign(lead));
}

function bestKind(packer: Packer, { at, above }: Input, { rows, length }: Strip, pixel: number): number {
  const sampled = Math.min(sampledRows, rows);
  function cost(kind: number): number {
    for (let i = 0; i < sampled; i++) {
      const skipped = Math.floor((rows * (i + 0.5)) / sampled) * length;
      packer.filter(kind, at + skipped, above + skipped, 1, length, pixel, pixel, filteredAt);
      packer.count(filteredAt, length + 1, pixel, countsAt, runsAt);
    }
    return entropyOf(readTally(packer));
  }
  const costs = kinds.map(cost);
  return kinds[costs.indexOf(Math.min(...costs))] as number;
}
