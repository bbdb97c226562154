import { canonicalCodes, codeLengths } from './huffman.js';

/** The order in which the code of code lengths is sent: RFC 1951, section 3.2.7. */
const lengthOrder = [16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15];
export const endOfBlock = 256;
const firstRun = 257;
/** Symbols of a block: bytes, its end, lengths of runs. */
export const symbolCount = 286;
export const shortestRun = 3;
export const longestRun = 258;

/** Symbol, extra bits and how many of them, of each length of a run: RFC 1951, section 3.2.5. */
export const runCodes = Array.from({ length: longestRun + 1 }, (_, length) => runCode(length));

function runCode(length: number): { symbol: number; extra: number; extraBits: number } {
  if (length === longestRun) return { symbol: 285, extra: 0, extraBits: 0 };
  const from = length - 3;
  const extraBits = from < 8 ? 0 : 29 - Math.clz32(from);
  return {
    symbol: firstRun + 4 * extraBits + (from >> extraBits),
    extra: from & ((1 << extraBits) - 1),
    extraBits,
  };
}

export type PutBits = (value: number, count: number) => void;

/**
 * Writes the head of a block with codes of its own. Of distances there are two, of one bit each: 1, for there are decoders
 * that want two, and the one that is used.
 */
export function putHead(put: PutBits, last: boolean, lengths: Uint8Array, distance: number): void {
  const distances = new Uint8Array(Math.max(distance, 2));
  distances[0] = 1;
  distances[distances.length - 1] = 1;
  const shown = lengths.findLastIndex((length) => length > 0) + 1;
  const steps = [...runsOf([...lengths.subarray(0, shown), ...distances])];
  const weights = new Uint32Array(19);
  for (const [symbol] of steps) weights[symbol] = (weights[symbol] as number) + 1;
  const bits = codeLengths(weights, 7);
  const codes = canonicalCodes(bits);
  const sent = lengthOrder.findLastIndex((symbol) => bits[symbol] !== 0) + 1;
  put(last ? 1 : 0, 1);
  put(2, 2);
  put(shown - 257, 5);
  put(distances.length - 1, 5);
  put(sent - 4, 4);
  for (const symbol of lengthOrder.slice(0, sent)) put(bits[symbol] as number, 3);
  for (const [symbol, extra, extraBits] of steps) {
    put(codes[symbol] as number, bits[symbol] as number);
    if (extraBits > 0) put(extra, extraBits);
  }
}

/** Code lengths as they are sent: repeated ones as 16 (the one before, 3 to 6 times), 17 and 18 (zeros, 3 to 138 times). */
function* runsOf(lengths: number[]): Generator<[symbol: number, extra: number, extraBits: number]> {
  for (let at = 0; at < lengths.length; ) {
    const length = lengths[at] as number;
    let end = at + 1;
    while (lengths[end] === length) end++;
    if (length > 0) {
      yield [length, 0, 0];
      at++;
    }
    while (end - at >= 3) {
      const count = Math.min(end - at, length > 0 ? 6 : 138);
      if (length > 0) yield [16, count - 3, 2];
      else if (count <= 10) yield [17, count - 3, 3];
      else yield [18, count - 11, 7];
      at += count;
    }
    for (; at < end; at++) yield [length, 0, 0];
  }
}
