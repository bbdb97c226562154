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
