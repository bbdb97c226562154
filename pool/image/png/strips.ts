import { filters, type RowShape } from './filter.js';
import { packBlock } from './pack-block.js';
import { countsAt, filteredAt, inputAt, outAt, type Packer, runsAt, stripBytes } from './packer.js';
import { entropyOf, readTally } from './tally.js';

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
 * The zlib stream of a picture's filtered rows. Each strip has the filter that leaves the least entropy and a Huffman code
 * of its own; of repeats only those of the pixel before are made use of. Beside the result it needs the packer's memory
 * alone.
 */
export function packRows(packer: Packer, rows: RowShape, height: number): Uint8Array[] {
  const parts: Uint8Array[] = [];
  const sum = Buffer.alloc(4);
  let adler = 1;
  let kind = 0;
  packer.begin(outAt);
  packer.put(zlibHead, 16);
  for (const strip of stripsOf(rows.stride, height)) {
    const input = load(packer, rows, strip);
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

function* stripsOf(stride: number, height: number): Generator<Strip> {
  const rows = Math.floor(stripBytes / (stride + 1));
  if (rows > 0) {
    for (let row = 0; row < height; row += rows) {
      yield { row, rows: Math.min(rows, height - row), from: 0, length: stride };
    }
    return;
  }
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
function load({ bytes }: Packer, { data, stride, pixel }: RowShape, strip: Strip): Input {
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
