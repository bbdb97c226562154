import { needsDictionary } from './segments.js';

/** Characters up to which a text is cleaned in less than a millisecond, whatever is in it. */
const mostCharacters = 4_000;

/** The same where a dictionary finds the words: a piece of one character takes about 2 µs. */
const mostCharactersSegmented = 500;

/** Words in `keep` and `also` together: each is normalized, which takes up to 3 µs. */
const mostWords = 50;

export interface ShortInput {
  text: string;
  language: string;
  keep: readonly string[];
  also: readonly string[];
}

/** Whether the removal is work for the main thread. */
export function isShort({ text, language, keep, also }: ShortInput): boolean {
  const most = needsDictionary(language) ? mostCharactersSegmented : mostCharacters;
  return text.length <= most && keep.length + also.length <= mostWords;
}
