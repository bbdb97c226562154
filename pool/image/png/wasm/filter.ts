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
