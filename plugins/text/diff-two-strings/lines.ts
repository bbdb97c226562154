/** A text and where its lines are. Each line has the newline that ends it; only the last can be without one. */
export interface Lines {
  text: string;
  /** Line `n`, from 0, goes from `starts[n]` up to `starts[n + 1]`; the last entry is the length of the text. */
  starts: number[];
  /** 0 for the empty text. */
  count: number;
}

/** Lines end at `\n` only. They are not cut out here: a megabyte can hold a million of them. */
export function splitLines(text: string): Lines {
  const starts = [0];
  for (let at = 0; at < text.length; ) {
    const newline = text.indexOf('\n', at);
    at = newline === -1 ? text.length : newline + 1;
    starts.push(at);
  }
  return { text, starts, count: starts.length - 1 };
}

/**
 * Two texts as numbers, equal lines as equal numbers from 0 up to `distinct`. The newline stays part of the key: a
 * line of digits would otherwise be an integer-like string, whose hash V8 does not seed, so that a sender could
 * make thousands of lines collide.
 */
export function numberLines(a: Lines, b: Lines) {
  const numbers = new Map<string, number>();
  const numbersOf = ({ text, starts, count }: Lines): Int32Array => {
    const result = new Int32Array(count);
    for (let at = 0; at < count; at++) {
      const line = text.slice(starts[at], starts[at + 1]);
      const known = numbers.get(line);
      result[at] = known ?? numbers.size;
      if (known === undefined) numbers.set(line, numbers.size);
    }
    return result;
  };
  const left = numbersOf(a);
  const right = numbersOf(b);
  return { left, right, distinct: numbers.size };
}
