const mostCodes = 4096;

/**
 * Unpacks GIF's variant of LZW (GIF89a, appendix F) into `count` colour indexes. `data` is the packed stream without
 * its block sizes. Throws where the stream is malformed or ends early. Every code read moves on in the stream and
 * what it expands to is bounded by `count`, so no stream can keep this busy. Own code as the decoder around it is.
 */
export function unpackLzw(data: Uint8Array, minimumCodeSize: number, count: number): Uint8Array {
  if (minimumCodeSize < 1 || minimumCodeSize > 8) throw new Error('A GIF with an impossible code size.');
  const clear = 1 << minimumCodeSize;
  const prefix = new Uint16Array(mostCodes);
  const suffix = new Uint8Array(mostCodes);
  const length = new Uint16Array(mostCodes).fill(1, 0, clear);
  for (let code = 0; code < clear; code++) suffix[code] = code;

  const out = new Uint8Array(count);
  let written = 0;
  let next = clear + 2;
  let size = minimumCodeSize + 1;
  let previous = -1;
  let bits = 0;
  let held = 0;
  let at = 0;
  while (written < count) {
    while (held < size) {
      if (at >= data.length) throw new Error('A GIF that ends early.');
      bits |= (data[at++] as number) << held;
      held += 8;
    }
    const code = bits & ((1 << size) - 1);
    bits >>>= size;
    held -= size;
    if (code === clear) {
      next = clear + 2;
      size = minimumCodeSize + 1;
      previous = -1;
      continue;
    }
    if (code === clear + 1) throw new Error('A GIF that ends early.');
    if (previous < 0 ? code > clear : code > next) throw new Error('A GIF with an unknown code.');
    const known = previous < 0 || code < next;
    const from = known ? code : previous;
    const run = length[from] as number;
    const first = expand(from, written + run - 1);
    written += run;
    if (!known && written < count) out[written++] = first;
    if (previous >= 0 && next < mostCodes) {
      prefix[next] = previous;
      suffix[next] = first;
      length[next] = (length[previous] as number) + 1;
      next++;
      if (next === 1 << size && size < 12) size++;
    }
    previous = code;
  }
  return out;

  /** Writes a code's string backwards so that its last index lands at `end`; returns its first. */
  function expand(code: number, end: number): number {
    let current = code;
    for (let to = end; ; to--) {
      if (to < count) out[to] = suffix[current] as number;
      if (current < clear) return current;
      current = prefix[current] as number;
    }
  }
}
