import cssColors from 'color-name';
import { nearest } from '../../nearest.js';
import { intensifiers, modifiers } from './modifiers.js';
import { parsePhrase } from './phrase.js';

const mostWords = 6;
const cssNames = Object.keys(cssColors);

/** The words of a CSS name, which CSS writes as one: `darkseagreen` is dark, sea, green. */
function wordsOf(name: string): string[] {
  const first = [...modifiers.keys()].find((word) => name.startsWith(word) && name.length > word.length);
  if (first !== undefined) return [first, ...wordsOf(name.slice(first.length))];
  const last = cssNames.find((each) => name.endsWith(each) && name.length > each.length);
  return last === undefined ? [name] : [...wordsOf(name.slice(0, -last.length)), last];
}

const vocabulary = [
  ...new Set([...modifiers.keys(), ...intensifiers.keys(), ...cssNames.flatMap(wordsOf), ...cssNames]),
];
const known = new Set(vocabulary);

/** A slip seldom hits the first letter but by changing places with the second; to look further costs ten times as much. */
function candidatesFor(word: string): string[] {
  return vocabulary.filter((each) => each[0] === word[0] || each[0] === word[1]);
}

/** The colour phrase that `text`, in lower case, is a slip of: each word that is not known is replaced by the nearest that is. */
export function nearestPhrase(text: string): string | undefined {
  const words = text.split(/[ ,_-]+/).filter((word) => word !== '');
  if (words.length > mostWords) return undefined;
  const meant: string[] = [];
  for (const word of words) {
    const found = known.has(word) ? word : nearest(word, candidatesFor(word));
    if (found === undefined) return undefined;
    meant.push(found);
  }
  const phrase = meant.join(' ');
  return phrase !== '' && parsePhrase(phrase) !== undefined ? phrase : undefined;
}
