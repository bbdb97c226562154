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
