/**
 * The loops of the PNG encoder, in AssemblyScript, 16 bytes at a time. The caller lays out all memory; nothing is allocated.
 * `npm run packer` compiles it to packer.wasm beside it; a test compares the two.
 */

/** Adler-32 of RFC 1950, continued. */
export function adler(sum: u32, from: usize, length: usize): u32 {
  let low = sum & 0xffff;
  let high = sum >>> 16;
  const weights = i8x16(16, 15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1);
  const lowWeights = i16x8.extend_low_i8x16_u(weights);
  const highWeights = i16x8.extend_high_i8x16_u(weights);
  const end = from + length;
  let at = from;
  while (at + 16 <= end) {
    const stop = min(end - 15, at + 5536);
    let sums = i32x4.splat(0);
    let before = i32x4.splat(0);
    let weighted = i32x4.splat(0);
    const first = at;
    for (; at < stop; at += 16) {
      const x = v128.load(at);
      before = i32x4.add(before, sums);
      sums = i32x4.add(sums, i32x4.extadd_pairwise_i16x8_u(i16x8.extadd_pairwise_i8x16_u(x)));
      weighted = i32x4.add(weighted, i32x4.dot_i16x8_s(i16x8.extend_low_i8x16_u(x), lowWeights));
      weighted = i32x4.add(weighted, i32x4.dot_i16x8_s(i16x8.extend_high_i8x16_u(x), highWeights));
    }
    high = (high + low * <u32>(at - first) + (total(before) << 4) + total(weighted)) % 65521;
    low = (low + total(sums)) % 65521;
  }
  for (; at < end; at++) {
    low = (low + load<u8>(at)) % 65521;
    high = (high + low) % 65521;
  }
  return (high << 16) | low;
}

function total(x: v128): u32 {
  return (
    i32x4.extract_lane(x, 0) + i32x4.extract_lane(x, 1) + i32x4.extract_lane(x, 2) + i32x4.extract_lane(x, 3)
  );
}

function difference(a: v128, b: v128): v128 {
  return v128.or(i8x16.sub_sat_u(a, b), i8x16.sub_sat_u(b, a));
}

/** PNG, section 9.4, without leaving 8 bits: where both differences point one way their sum is the farthest of all. */
function paeth(a: v128, b: v128, c: v128): v128 {
  const fromA = difference(b, c);
  const fromB = difference(a, c);
  const sameSide = i8x16.eq(i8x16.ge_u(a, c), i8x16.ge_u(b, c));
  const fromC = v128.bitselect(i8x16.add_sat_u(fromA, fromB), difference(fromA, fromB), sameSide);
  const takeA = v128.and(i8x16.le_u(fromA, fromB), i8x16.le_u(fromA, fromC));
  return v128.bitselect(a, v128.bitselect(b, c, i8x16.le_u(fromB, fromC)), takeA);
}

function filtered(kind: i32, at: usize, above: usize, pixel: usize): v128 {
  const x = v128.load(at);
  if (kind === 0) return x;
  if (kind === 2) return i8x16.sub(x, v128.load(above));
  const a = v128.load(at - pixel);
  if (kind === 1) return i8x16.sub(x, a);
  const b = v128.load(above);
  if (kind === 3) {
    const odd = v128.and(v128.xor(a, b), i8x16.splat(1));
    return i8x16.sub(x, i8x16.sub(i8x16.avgr_u(a, b), odd));
  }
  return i8x16.sub(x, paeth(a, b, v128.load(above - pixel)));
}

/**
 * Filters rows of `length` bytes that lie one behind the other, as do those above them at `above`. Of each row the `lead`
 * first bytes have nothing beside them, and its filter byte goes in front; where `lead` is 0 it is a row continued. Reads
 * and writes up to 15 bytes more.
 */
export function filter(
  kind: i32,
  from: usize,
  above: usize,
  rows: i32,
  length: usize,
  lead: usize,
  pixel: usize,
  to: usize,
): void {
  for (; rows > 0; rows--) {
    if (lead) store<u8>(to++, kind);
    for (let i: usize = 0; i < lead; i++) {
      const b = <u32>load<u8>(above + i);
      store<u8>(to + i, <u32>load<u8>(from + i) - (kind < 2 ? 0 : kind === 3 ? b >> 1 : b));
    }
    for (let i = lead; i < length; i += 16) v128.store(to + i, filtered(kind, from + i, above + i, pixel));
    from += length;
    above += length;
    to += length;
  }
}

/**
 * About how many sixteenths of a bit the bytes take where repeats are replaced by matches, as deflate does it. A byte takes
 * what `costs` says (32 bits each); `heads` are 4096 places of 32 bits, all 0, for where something was seen last.
 */
export function priceOfMatches(from: usize, length: usize, costs: usize, heads: usize): u32 {
  const end = from + length;
  let price: u32 = 0;
  for (let at = from; at < end; ) {
    const literal = load<u32>(costs + ((<usize>load<u8>(at)) << 2));
    let taken: usize = 1;
    let paid = literal;
    if (at + 4 <= end) {
      const x = load<u32>(at);
      const head = heads + (((x * 0x9e3779b1) >>> 20) << 2);
      const before = <usize>load<u32>(head);
      store<u32>(head, <u32>at);
      if (before !== 0 && load<u32>(before) === x) {
        let replaced: u32 = 0;
        let n: usize = 0;
        const longest = min<usize>(end - at, 258);
        for (; n < longest && load<u8>(before + n) === load<u8>(at + n); n++) {
          replaced += load<u32>(costs + ((<usize>load<u8>(at + n)) << 2));
        }
        const match = (<u32>(43 - clz<u32>(<u32>(at - before)))) << 4;
        if (match < replaced) {
          taken = n;
          paid = match;
        }
      }
    }
    price += paid;
    at += taken;
  }
  return price;
}

/** Where the next whole byte of the deflate stream goes. */
export let out: usize = 0;
/** Bits that make no byte yet, lowest first, and how many; less than 8 between calls. */
let held: u64 = 0;
let bits: u64 = 0;

/** Begins a stream there. */
export function begin(to: usize): void {
  out = to;
  held = 0;
  bits = 0;
}

/** Fills the last byte up with zeros. */
export function align(): void {
  put(0, <u32>-bits & 7);
}

/** Appends up to 32 bits. */
export function put(value: u32, count: u32): void {
  held |= (<u64>value) << bits;
  bits += count;
  store<u64>(out, held);
  out += <usize>(bits >> 3);
  held >>= bits & 56;
  bits &= 7;
}

function putCode(table: usize, symbol: u32): void {
  const code = load<u32>(table + (symbol << 2));
  put(code >> 6, code & 63);
}

function repeats(at: usize, distance: usize): bool {
  return !v128.any_true(v128.xor(v128.load(at), v128.load(at - distance)));
}

/** How many bytes from `at` on equal those `distance` before. */
function runLength(at: usize, end: usize, distance: usize): usize {
  const from = at;
  while (at + 16 <= end) {
    const differs = ~i8x16.bitmask(i8x16.eq(v128.load(at), v128.load(at - distance))) & 0xffff;
    if (differs) return at + ctz(differs) - from;
    at += 16;
  }
  return at - from;
}

function add(table: usize, symbol: u32): void {
  const at = table + (symbol << 2);
  store<u32>(at, load<u32>(at) + 1);
}

/**
 * Counts in the four tables at `counts` (1024 bytes each, to be added up; four, for neighbours are often equal and a
 * counter is slow to be counted up again) the bytes, and in the one at `runs` the lengths of the runs that `pack` would
 * write in their place.
 */
export function count(from: usize, length: usize, distance: usize, counts: usize, runs: usize): void {
  const end = from + length;
  let at = from;
  while (at + 16 <= end) {
    if (at !== from && repeats(at, distance)) {
      let run = runLength(at, end, distance);
      at += run;
      for (; run >= 3; run -= min<usize>(run, 258)) add(runs, <u32>min<usize>(run, 258));
      at -= run;
      if (at + 16 > end) break;
    }
    for (const next = at + 16; at < next; at += 8) {
      const x = load<u64>(at);
      add(counts, <u32>x & 255);
      add(counts + 1024, <u32>(x >> 8) & 255);
      add(counts + 2048, <u32>(x >> 16) & 255);
      add(counts + 3072, <u32>(x >> 24) & 255);
      add(counts, <u32>(x >> 32) & 255);
      add(counts + 1024, <u32>(x >> 40) & 255);
      add(counts + 2048, <u32>(x >> 48) & 255);
      add(counts + 3072, <u32>(x >> 56));
    }
  }
  for (; at < end; at++) add(counts, load<u8>(at));
}

/**
 * Appends the bytes by the codes at `codes`, runs by those at `runs`: for each byte, and for each length of a run, 32 bits,
 * of which the lowest 6 say how many the others are. Of a byte they are at most 14, of a run at most 26.
 */
export function pack(from: usize, length: usize, distance: usize, codes: usize, runs: usize): void {
  const end = from + length;
  let at = from;
  let to = out;
  let acc = held;
  let n = bits;
  while (at + 16 <= end) {
    if (at !== from && repeats(at, distance)) {
      let run = runLength(at, end, distance);
      at += run;
      out = to;
      held = acc;
      bits = n;
      for (; run >= 3; run -= min<usize>(run, 258)) putCode(runs, <u32>min<usize>(run, 258));
      to = out;
      acc = held;
      n = bits;
      at -= run;
      if (at + 16 > end) break;
    }
    for (const next = at + 16; at < next; at += 4) {
      const x = load<u32>(at);
      const a = <u64>load<u32>(codes + ((x & 255) << 2));
      const b = <u64>load<u32>(codes + (((x >> 8) & 255) << 2));
      const c = <u64>load<u32>(codes + (((x >> 16) & 255) << 2));
      const d = <u64>load<u32>(codes + ((x >> 24) << 2));
      // A shift takes the lowest 6 bits of its count, and sums of lengths stay within them.
      const two = (a >> 6) | ((b >> 6) << a);
      const next = (c >> 6) | ((d >> 6) << c);
      acc |= (two | (next << (a + b))) << n;
      n += (a + b + c + d) & 63;
      store<u64>(to, acc);
      to += <usize>(n >> 3);
      acc >>= n & 56;
      n &= 7;
    }
  }
  out = to;
  held = acc;
  bits = n;
  for (; at < end; at++) putCode(codes, load<u8>(at));
}
