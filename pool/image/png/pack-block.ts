import { endOfBlock, longestRun, putHead, runCodes, shortestRun } from './block.js';
import { canonicalCodes, codeLengths } from './huffman.js';
import { codesAt, countsAt, filteredAt, longestCode, type Packer, runCodesAt, runsAt } from './packer.js';
import { readTally } from './tally.js';

/** Appends the first `length` filtered bytes as one block of deflate with codes of its own. */
export function packBlock(packer: Packer, length: number, pixel: number, last: boolean): void {
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
    // Of the two distances that the head tells of, the second is the pixel's.
    const sent = (codes[symbol] as number) | (extra << bits) | (1 << (bits + extraBits));
    words[runCodesAt / 4 + length] = (bits + extraBits + 1) | (sent << 6);
  }
}
