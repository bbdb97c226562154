import { constants, deflateSync } from 'node:zlib';
import { type FilterName, filterRows, type RowShape } from './filter.js';
import { placeRows } from './sample.js';

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
export function tryStrategies(places: readonly RowShape[]): ZlibStrategy {
  const trials = (['up', 'sub', 'average'] as const).map((filter) => tryStrategy(places, filter, 'huffman'));
  const { filter } = trials.reduce(cheaper);
  return [
    tryStrategy(places, 'none', 'thorough'),
    ...trials,
    tryStrategy(places, filter, 'runs'),
    tryStrategy(places, filter, 'matches'),
  ].reduce(cheaper);
}

/** Deflates a sample. */
export function tryStrategy(places: readonly RowShape[], filter: FilterName, packing: PackingName): Trial {
  const sample = Buffer.concat(places.map((place) => filterRows(place, filter, 1, placeRows(place))));
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
