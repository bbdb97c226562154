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
