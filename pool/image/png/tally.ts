import { endOfBlock, longestRun, runCodes, shortestRun, symbolCount } from './block.js';
import { countsAt, type Packer, runsAt } from './packer.js';

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

/** The distance's bit, and what tells lengths of one symbol apart. */
const averageExtraBits = 4;
