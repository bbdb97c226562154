/** The lines of a text, each with the newline that ends it; only the last can be without one. `''` has no lines. */
export function splitLines(text: string): string[] {
  const lines: string[] = [];
  let start = 0;
  while (start < text.length) {
    const newline = text.indexOf('\n', start);
    const end = newline === -1 ? text.length : newline + 1;
    lines.push(text.slice(start, end));
    start = end;
  }
  return lines;
}

/**
 * Two texts as numbers, equal lines as equal numbers from 0 up to `distinct`. The newline stays part of the key: a
 * line of digits would otherwise be an integer-like string, whose hash V8 does not seed, so that a sender could
 * make thousands of lines collide.
 */
export function numberLines(a: string[], b: string[]) {
  const numbers = new Map<string, number>();
  const numbersOf = (lines: string[]): Int32Array => {
    const result = new Int32Array(lines.length);
    for (let at = 0; at < lines.length; at++) {
      const line = lines[at] as string;
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
