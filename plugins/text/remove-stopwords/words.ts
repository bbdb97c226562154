/** Apostrophes that join the parts of a word: typewriter, typographic, modifier letter. */
const APOSTROPHES = /['’ʼ]/g;

/** ʼ is a letter to Unicode; here it joins like the others and is not part of a run. */
const RUN = '(?:(?!ʼ)[\\p{L}\\p{M}\\p{N}_])+';

/** A word as a source for `RegExp` with the flag `u`: runs of letters, marks, digits and `_`, joined by inner apostrophes. */
export const WORD = `${RUN}(?:['’ʼ]${RUN})*`;

/**
 * Longer words, in UTF-16 units, are on no list. It keeps `normalize`, whose time grows with the square of the number of
 * marks on one letter, away from hostile words.
 */
const MAX_LENGTH = 256;

/** The form in which words are compared: lower case, typewriter apostrophes, composed. Undefined for what no list has. */
export function normalizeWord(word: string): string | undefined {
  if (word.length > MAX_LENGTH) return undefined;
  return word.toLowerCase().replace(APOSTROPHES, "'").normalize('NFC');
}

const WHOLE = new RegExp(`^${WORD}$`, 'u');

/** The words of a list in the form in which they are compared, without the entries that can never be a word. */
export function normalizeList(entries: readonly string[]): Set<string> {
  const words = new Set<string>();
  for (const entry of entries) {
    const word = entry.trim();
    const normal = WHOLE.test(word) ? normalizeWord(word) : undefined;
    if (normal !== undefined) words.add(normal);
  }
  return words;
}
