import * as stopword from 'stopword';
import { moreContractions, snowballEnglish, snowballOmitted } from './snowball-english.js';
import { normalizeList } from './words.js';

/** Every list of the `stopword` package by its name there. */
const packaged = new Map<string, readonly string[]>(
  Object.entries(stopword).filter((entry): entry is [string, string[]] => Array.isArray(entry[1])),
);

/** The names of the lists: ISO 639-3 codes with a few additions (`porBr`, `panGu`, `lggNd`), and `_123` for digits. */
export const languages: readonly string[] = [...packaged.keys()].sort();

const prepared = new Map<string, Set<string>>();

/** The list of a language in the form in which words are compared; for `eng` the one that Snowball completes. */
export function stopwordsOf(language: string): Set<string> {
  const known = prepared.get(language);
  if (known) return known;
  const entries = packaged.get(language) ?? [];
  const list = normalizeList(
    language === 'eng' ? [...entries, ...snowballEnglish, ...snowballOmitted, ...moreContractions] : entries,
  );
  prepared.set(language, list);
  return list;
}
