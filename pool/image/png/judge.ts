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
import { entropyOf, readTally } from './tally.js';

/** What a sample says of packing in strips. */
export interface Judgement {
  /** Bytes that the sample would take, by its entropy, as one block. */
  size: number;
  /** Whether it is plain, without trials, that matches would not make it much smaller. */
  clear: boolean;
  /** The best of the filters that one picture as a whole may have. */
  filter: FilterName;
}

const simple = ['sub', 'up', 'average'] as const;
/** Bits a byte; where it is fewer, much may be repeats, and a sample shows too few of them. */
const fewBits = 2;
/** About what tells of a block's codes. */
const headBytes = 80;
/** Of the strips' size, what matches may promise before they are tried; of rows that are not filtered they promise too little. */
const promising = { filtered: 0.88, plain: 1 };

/**
 * Judges by the entropy of filtered bytes, and by a rough price of what matches would make of them, and of the rows as they
 * are: in a photograph hardly anything repeats, a drawing does, and differences hide it.
 */
export function judge(packer: Packer, places: readonly RowShape[]): Judgement {
  const tallies = simple.map((filter) => tallyOf(packer, places, filters[filter]));
  const paeth = tallyOf(packer, places, filters.paeth);
  const sizes = tallies.map(entropyOf);
  const least = Math.min(...sizes);
  const best = sizes.indexOf(least);
  const filter = simple[best] as FilterName;
  const own = Math.min(least, entropyOf(paeth));
  const bytes = places.reduce((sum, place) => sum + place.stride * placeRows(place), 0);

  function promises(kind: number, tally: Uint32Array, share: number): boolean {
    return priceOfMatches(packer, places, kind, tally) < share * own;
  }
  const clear =
    own >= fewBits * bytes &&
    !(own < least
      ? promises(filters.paeth, paeth, promising.filtered)
      : promises(filters[filter], tallies[best] as Uint32Array, promising.filtered)) &&
    !promises(filters.none, tallyOf(packer, places, filters.none), promising.plain);
  return { size: own / 8 + headBytes, clear, filter };
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
