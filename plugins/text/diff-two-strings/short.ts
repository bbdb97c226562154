/** Characters of both texts, and lines of one times lines of the other, up to which a diff stays under a millisecond. */
const mostCharacters = 8_000;
const mostPairs = 10_000;

/** Whether the diff of two texts is work for the main thread. Characters alone are no measure: they can be as many lines. */
export function isShort({ a, b }: { a: string; b: string }): boolean {
  return a.length + b.length <= mostCharacters && countLines(a) * countLines(b) <= mostPairs;
}

function countLines(text: string): number {
  let count = 1;
  for (let at = text.indexOf('\n'); at !== -1; at = text.indexOf('\n', at + 1)) count++;
  return count;
}
