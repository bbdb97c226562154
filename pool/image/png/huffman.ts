const mostSymbols = 512;

/**
 * Code lengths of at most `limit` bits: by Moffat and Katajainen's two queues, then the longest shortened and others
 * lengthened until Kraft's sum is 1 again, as miniz does it. A symbol without weight has none; one alone has 1.
 */
export function codeLengths(weights: Uint32Array, limit: number): Uint8Array {
  const lengths = new Uint8Array(weights.length);
  // Weight and symbol in one number, so that they are sorted without a function.
  const sorted = new Float64Array(weights.length);
  let used = 0;
  for (let symbol = 0; symbol < weights.length; symbol++) {
    const weight = weights[symbol] as number;
    if (weight > 0) sorted[used++] = weight * mostSymbols + symbol;
  }
  const leaves = sorted.subarray(0, used).sort();
  const perLength = limitLengths(depthCounts(leaves), limit);
  let leaf = 0;
  for (let length = perLength.length - 1; length > 0; length--) {
    for (let left = perLength[length] as number; left > 0; left--) {
      lengths[(leaves[leaf++] as number) % mostSymbols] = length;
    }
  }
  return lengths;
}

/** How many leaves lie at each depth of the tree; the rarest are the deepest. */
function depthCounts(leaves: Float64Array): Uint32Array {
  const inner = leaves.length - 1;
  if (inner === 0) return Uint32Array.of(0, 1);
  const sums = new Float64Array(inner);
  const parents = new Uint16Array(inner);
  let leaf = 0;
  let node = 0;
  for (let next = 0; next < inner; next++) {
    for (let child = 0; child < 2; child++) {
      const weight =
        leaf < leaves.length ? Math.floor((leaves[leaf] as number) / mostSymbols) : Number.POSITIVE_INFINITY;
      if (node < next && (sums[node] as number) < weight) {
        sums[next] = (sums[next] as number) + (sums[node] as number);
        parents[node++] = next;
      } else {
        sums[next] = (sums[next] as number) + weight;
        leaf++;
      }
    }
  }
  const depths = new Uint16Array(inner);
  const innerAt = new Uint32Array(inner + 1);
  innerAt[0] = 1;
  for (let at = inner - 2; at >= 0; at--) {
    depths[at] = (depths[parents[at] as number] as number) + 1;
    innerAt[depths[at] as number] = (innerAt[depths[at] as number] as number) + 1;
  }
  const counts = new Uint32Array(inner + 1);
  for (let depth = 1; depth <= inner; depth++) {
    counts[depth] = 2 * (innerAt[depth - 1] as number) - (innerAt[depth] as number);
  }
  return counts;
}

function limitLengths(counts: Uint32Array, limit: number): Uint32Array {
  if (counts.length <= limit + 1) return counts;
  const limited = counts.slice(0, limit + 1);
  for (const count of counts.subarray(limit + 1)) limited[limit] = (limited[limit] as number) + count;
  let sum = 0;
  for (let length = 1; length <= limit; length++) sum += (limited[length] as number) * 2 ** (limit - length);
  for (; sum > 2 ** limit; sum--) {
    limited[limit] = (limited[limit] as number) - 1;
    let longer = limit - 1;
    while (limited[longer] === 0) longer--;
    limited[longer] = (limited[longer] as number) - 1;
    limited[longer + 1] = (limited[longer + 1] as number) + 2;
  }
  return limited;
}

/** The canonical code of RFC 1951, section 3.2.2, of each symbol, with its bits in the order in which they are sent. */
export function canonicalCodes(lengths: Uint8Array): Uint16Array {
  const counts = new Uint16Array(16);
  for (const length of lengths) counts[length] = (counts[length] as number) + 1;
  counts[0] = 0;
  const next = new Uint16Array(17);
  for (let length = 1; length < 16; length++) {
    next[length + 1] = ((next[length] as number) + (counts[length] as number)) << 1;
  }
  const codes = new Uint16Array(lengths.length);
  for (let symbol = 0; symbol < lengths.length; symbol++) {
    const length = lengths[symbol] as number;
    if (length === 0) continue;
    let code = next[length] as number;
    next[length] = code + 1;
    for (let bit = 0; bit < length; bit++, code >>= 1) {
      codes[symbol] = ((codes[symbol] as number) << 1) | (code & 1);
    }
  }
  return codes;
}

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

/**
 * Writes the head of a block with its own codes. There are two distances, since some decoders want two: 1 and the used.
 */
export function putHead(
  put: (value: number, count: number) => void,
  last: boolean,
  lengths: Uint8Array,
  distance: number,
): void {
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

/** Code lengths as they are sent: 16 repeats the one before 3 to 6 times, 17 and 18 are 3 to 138 zeros. */
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
