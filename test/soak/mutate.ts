import type { Random } from './random.js';

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
    const piece = bytes.subarray(from, to);
    const times = random.pick([1, 2, 10, 300]);
    return splice(bytes, to, to, Buffer.concat(Array.from({ length: times }, () => piece)));
  },
  function insertWord(random, bytes, words) {
    const [from] = place(random, bytes);
    const word = Buffer.from(random.pick(words), 'latin1');
    return splice(
      bytes,
      from,
      from,
      Buffer.concat(Array.from({ length: random.pick([1, 1, 1, 2, 500]) }, () => word)),
    );
  },
  function replaceByWord(random, bytes, words) {
    return splice(bytes, ...place(random, bytes), Buffer.from(random.pick(words), 'latin1'));
  },
  function insertNoise(random, bytes) {
    const [from] = place(random, bytes);
    return splice(
      bytes,
      from,
      from,
      Buffer.from(Array.from({ length: 1 + random.below(40) }, () => random.below(256))),
    );
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
