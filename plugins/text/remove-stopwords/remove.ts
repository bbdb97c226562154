import { stopwordsOf } from './lists.js';
import { createSegmenter } from './segments.js';
import { normalizeList, normalizeWord, wordPattern } from './words.js';

export interface RemoveOptions {
  /** A name out of `languages`. */
  language: string;
  /** Words that stay although they are on the list, or in `also`. */
  keep: readonly string[];
  /** Words that go although they are not on the list. */
  also: readonly string[];
}

/**
 * The text without its stopwords; everything between words stays as it is. Own code around the lists of the package `stopword`,
 * whose own function works on a list of words and so loses what stands between them.
 */
export function removeStopwords(text: string, { language, keep, also }: RemoveOptions): string {
  const list = stopwordsOf(language);
  const kept = normalizeList(keep);
  const more = normalizeList(also);
  const segment = createSegmenter(language);
  const removed = (word: string): boolean => {
    const form = normalizeWord(word);
    return form !== undefined && (list.has(form) || more.has(form)) && !kept.has(form);
  };
  return text.replace(new RegExp(wordPattern, 'gu'), (word) => {
    if (removed(word)) return '';
    const pieces = segment?.(word) ?? [word];
    return pieces.length === 1 ? word : pieces.filter((piece) => !removed(piece)).join('');
  });
}
