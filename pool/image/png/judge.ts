import { endOfBlock } from './block.js';
import { type FilterName, filters, type RowShape } from './filter.js';
import {
  codesAt,
  countsAt,
  filteredAt,
  headCount,
  headsAt,
  inputAt,
  longestCode,
  type Packer,
  runsAt,
} from './packer.js';
import { placeRows } from './sample.js';
import type { ZlibStrategy } from './strategy.js';
import { entropyOf, readTally } from './tally.js';

/** How a picture is packed, as far as the statistics of a sample say. */
export type Judgement = { packing: 'strips' } | ZlibStrategy | Unclear;

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
/** About what tells of a block's codes. */
const headBytes = 80;
/** Shares of the strips' size: what matches promise where they are surely better, and from which on strips are. */
const ofUnfiltered = { few: [1.3, Number.POSITIVE_INFINITY], many: [0.9, 1] } as const;
/** The same of filtered rows. */
const ofFiltered = 0.88;

/**
 * Judges by the entropy of filtered bytes, and by a rough price of what matches would make of them, and of the rows as they
 * are: in a photograph hardly anything repeats, a drawing does, and differences hide it. A sample of few bits promises too
 * little, for matches lie farther back. What repeats as differences, like the three equal bytes of a grey pixel, is matched so.
 */
export function judge(packer: Packer, places: readonly RowShape[]): Judgement {
  const kinds = [...simple.map((filter) => filters[filter]), filters.paeth];
  const tallies = kinds.map((kind) => tallyOf(packer, places, kind));
  const sizes = tallies.map(entropyOf);
  const own = Math.min(...sizes);
  const simpleSizes = sizes.slice(0, simple.length);
  const filter = simple[simpleSizes.indexOf(Math.min(...simpleSizes))] as FilterName;
  const bits = own / places.reduce((sum, place) => sum + place.stride * placeRows(place), 0);
  const unfiltered = tallyOf(packer, places, filters.none);
  if (bits < drawnBits)
    return entropyOf(unfiltered) < smoothness * own ? thorough : { filter, packing: 'runs' };
  const share = priceOfMatches(packer, places, filters.none, unfiltered) / own;
  const [drawn, photographed] = ofUnfiltered[bits < grainBits ? 'few' : 'many'];
  if (share < drawn) return thorough;
  const best = sizes.indexOf(own);
  const promised = priceOfMatches(packer, places, kinds[best] as number, tallies[best] as Uint32Array);
  if (bits >= grainBits && promised < ofFiltered * own) return { filter, packing: 'matches' };
  if (share >= photographed) return { packing: 'strips' };
  return { packing: 'unclear', size: own / 8 + headBytes };
}

/** Filters a place to `filteredAt`; gives its bytes there. */
function filterPlace(packer: Packer, place: RowShape, kind: number): number {
  const { data, stride, pixel } = place;
  const rows = placeRows(place);
  packer.bytes.set(data, inputAt);
  packer.filter(kind, inputAt + stride, inputAt, rows, stride, pixel, pixel, filteredAt);
  return rows * (stride + 1);
}

function tallyOf(packer: Packer, places: readonly RowShape[], kind: number): Uint32Array {
  for (const place of places) {
    packer.count(filteredAt, filterPlace(packer, place, kind), place.pixel, countsAt, runsAt);
  }
  return readTally(packer);
}

/** Bits, about, with matches in place of repeats, where a byte that is none takes what it has of entropy. */
function priceOfMatches(
  packer: Packer,
  places: readonly RowShape[],
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
  for (const place of places) {
    const length = filterPlace(packer, place, kind);
    words.fill(0, headsAt / 4, headsAt / 4 + headCount);
    price += packer.priceOfMatches(filteredAt, length, codesAt, headsAt);
  }
  return price / 16;
}
