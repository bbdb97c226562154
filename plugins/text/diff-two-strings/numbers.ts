import { type Lines, sameLine } from './lines.js';

/**
 * Two texts as numbers, equal lines as equal numbers from 0 up to `distinct`, in the order in which they first appear: a table
 * with open addressing, at most half full.
 */
export function numberLines(a: Lines, b: Lines) {
  const bits = 1 + Math.ceil(Math.log2(a.count + b.count + 1));
  /** One more than the number that a place has, 0 where it is free. */
  const table = new Int32Array(2 ** bits);
  /** By number: the line that had it first, in `a` up to `inA` numbers and in `b` from there on. */
  const firsts: number[] = [];
  let inA = Number.POSITIVE_INFINITY;

  const numbersOf = (lines: Lines): Int32Array => {
    const result = new Int32Array(lines.count);
    for (let line = 0; line < lines.count; line++) {
      const hash = lines.hashes[line] as number;
      let place = (hash ^ (hash >>> 16)) & (table.length - 1);
      for (;;) {
        const number = (table[place] as number) - 1;
        if (number === -1) {
          result[line] = firsts.length;
          table[place] = firsts.push(line);
          break;
        }
        if (sameLine(number < inA ? a : b, firsts[number] as number, lines, line)) {
          result[line] = number;
          break;
        }
        place = (place + 1) & (table.length - 1);
      }
    }
    return result;
  };

  const left = numbersOf(a);
  inA = firsts.length;
  const right = numbersOf(b);
  return { left, right, distinct: firsts.length };
}
