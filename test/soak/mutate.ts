/** Chance that can be had again: the same seed gives the same attack. */
export type Random = ReturnType<typeof createRandom>;

/** Mulberry32: small, fast and even enough to choose mutations. */
export function createRandom(seed: number) {
  let state = seed >>> 0;
  /** A number from 0 up to but not including 1. */
  function next(): number {
    state = (state + 0x6d2b79f5) >>> 0;
    let bits = Math.imul(state ^ (state >>> 15), 1 | state);
    bits = (bits + Math.imul(bits ^ (bits >>> 7), 61 | bits)) ^ bits;
    return ((bits ^ (bits >>> 14)) >>> 0) / 2 ** 32;
  }
  /** A whole number from 0 up to but not including `limit`. */
  const below = (limit: number) => Math.floor(next() * limit);
  return { seed, next, below, pick: <T>(list: readonly T[]) => list[below(list.length)] as T };
}

/** A part of a body; `head` are more lines of its head. */
export type Part = { name: string; value: Uint8Array | string; filename?: string; head?: string };

/** A multipart/form-data body with its type; `boundary` stands in both as it is given. */
export function multipart(parts: readonly Part[], boundary = 'b0undary'): { type: string; body: Buffer } {
  const pieces = parts.flatMap(({ name, value, filename, head = '' }) => {
    const file = filename === undefined ? '' : `; filename="${filename}"\r\ncontent-type: image/jpeg`;
    const lines = `--${boundary}\r\ncontent-disposition: form-data; name="${name}"${file}\r\n${head}\r\n`;
    return [Buffer.from(lines, 'latin1'), Buffer.from(value as string), Buffer.from('\r\n')];
  });
  const body = Buffer.concat([...pieces, Buffer.from(`--${boundary}--\r\n`)]);
  return { type: `multipart/form-data; boundary=${boundary}`, body };
}

type Mutation = (random: Random, bytes: Buffer, words: readonly string[]) => Buffer;

const most = 64 * 1024;

function place(random: Random, bytes: Buffer): [number, number] {
  const from = random.below(bytes.length + 1);
  return [from, Math.min(bytes.length, from + random.below(random.pick([2, 8, 64, 512])))];
}

function splice(bytes: Buffer, from: number, to: number, middle: Uint8Array): Buffer {
  return Buffer.concat([bytes.subarray(0, from), middle, bytes.subarray(to)]);
}

const mutations: readonly Mutation[] = [
  function flipBits(random, bytes) {
    const copy = Buffer.from(bytes);
    for (let times = 1 + random.below(8); times > 0 && copy.length > 0; times -= 1) {
      const at = random.below(copy.length);
      copy[at] = (copy[at] ?? 0) ^ (1 << random.below(8));
    }
    return copy;
  },
  function remove(random, bytes) {
    return splice(bytes, ...place(random, bytes), Buffer.alloc(0));
  },
  function repeat(random, bytes) {
    const [from, to] = place(random, bytes);
    const again = Array(random.pick([1, 2, 10, 300])).fill(bytes.subarray(from, to));
    return splice(bytes, to, to, Buffer.concat(again));
  },
  function insertWord(random, bytes, words) {
    const [from] = place(random, bytes);
    const word = random.pick(words).repeat(random.pick([1, 1, 1, 2, 500]));
    return splice(bytes, from, from, Buffer.from(word, 'latin1'));
  },
  function replaceByWord(random, bytes, words) {
    return splice(bytes, ...place(random, bytes), Buffer.from(random.pick(words), 'latin1'));
  },
  function insertNoise(random, bytes) {
    const [from] = place(random, bytes);
    const noise = Array.from({ length: 1 + random.below(40) }, () => random.below(256));
    return splice(bytes, from, from, Buffer.from(noise));
  },
  function cutOff(random, bytes) {
    return bytes.subarray(0, random.below(bytes.length + 1));
  },
  function moveAPiece(random, bytes) {
    const [from, to] = place(random, bytes);
    const rest = splice(bytes, from, to, Buffer.alloc(0));
    const [at] = place(random, rest);
    return splice(rest, at, at, bytes.subarray(from, to));
  },
];

/** One to six random changes; `words` are what the format's parsers look for. At most 64 KB come out. */
export function mutate(random: Random, bytes: Buffer, words: readonly string[]): Buffer {
  let result = bytes;
  for (let times = 1 + random.below(6); times > 0; times -= 1) {
    result = random.pick(mutations)(random, result, words).subarray(0, most);
  }
  return Buffer.from(result);
}
