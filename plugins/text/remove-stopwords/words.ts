/** Apostrophes that join the parts of a word: typewriter, typographic, modifier letter. */
const apostrophes = /['’ʼ]/g;

/** ʼ is a letter to Unicode; here it joins like the others and is not part of a run. */
const run = '(?:(?!ʼ)[\\p{L}\\p{M}\\p{N}_])+';

/** A word as a source for `RegExp` with the flag `u`: runs of letters, marks, digits and `_`, joined by inner apostrophes. */
export const wordPattern = `${run}(?:['’ʼ]${run})*`;

/**
 * Longer words, in UTF-16 units, are on no list. It keeps `normalize`, whose time grows with the square of the number of
 * marks on one letter, away from hostile words.
 */
const longest = 256;

/** The form in which words are compared: lower case, typewriter apostrophes, composed. Undefined for what no list has. */
export function normalizeWord(word: string): string | undefined {
  if (word.length > longest) return undefined;
  return word.toLowerCase().replace(apostrophes, "'").normalize('NFC');
}

const whole = new RegExp(`^${wordPattern}$`, 'u');

/** The words of a list in the form in which they are compared, without the entries that can never be a word. */
export function normalizeList(entries: readonly string[]): Set<string> {
  const words = new Set<string>();
  for (const entry of entries) {
    const word = entry.trim();
    const normal = whole.test(word) ? normalizeWord(word) : undefined;
    if (normal !== undefined) words.add(normal);
  }
  return words;
}
