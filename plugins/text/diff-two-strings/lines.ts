/** A text and where its lines are. Each line has the newline that ends it; only the last can be without one. */
export interface Lines {
  text: string;
  /** Line `n`, from 0, goes from `starts[n]` up to `starts[n + 1]`; the last entry is the length of the text. */
  starts: number[];
  /** A hash of each line, of 32 bits: equal lines have equal ones. */
  hashes: number[];
  /** 0 for the empty text. */
  count: number;
}

const newline = 10;

/** Secret to the process: a sender that knew them could make thousands of lines collide. */
const [seed = 0, random = 0] = crypto.getRandomValues(new Int32Array(2));
const multiplier = random | 1;

/**
 * Lines end at `\n` only. They are not cut out here: a megabyte can hold a million of them, and the strings, with the Map
 * that would tell equal ones, cost several times as much as the search for the differences of two texts that are nearly alike.
 */
export function splitLines(text: string): Lines {
  const starts = [0];
  const hashes: number[] = [];
  let hash = seed;
  for (let at = 0; at < text.length; at++) {
    const unit = text.charCodeAt(at);
    hash = Math.imul(hash ^ unit, multiplier);
    hash ^= hash >>> 15;
    if (unit !== newline && at + 1 < text.length) continue;
    starts.push(at + 1);
    hashes.push(hash);
    hash = seed;
  }
  return { text, starts, hashes, count: hashes.length };
}

/** Whether two lines, of one text or of two, are the same. */
export function sameLine(a: Lines, aLine: number, b: Lines, bLine: number): boolean {
  if (a.hashes[aLine] !== b.hashes[bLine]) return false;
  const start = a.starts[aLine] as number;
  const length = (a.starts[aLine + 1] as number) - start;
  const other = b.starts[bLine] as number;
  if (length !== (b.starts[bLine + 1] as number) - other) return false;
  for (let at = 0; at < length; at++) {
    if (a.text.charCodeAt(start + at) !== b.text.charCodeAt(other + at)) return false;
  }
  return true;
}
