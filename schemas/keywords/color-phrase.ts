import { readFileSync } from 'node:fs';
import cssColors from 'color-name';
import { nearest } from '../nearest.js';
import { intensifiers, type Modifier, modifiers, modifyColor } from './color-modifiers.js';

const hexOf = (rgb: readonly number[]) =>
  `#${rgb.map((part) => part.toString(16).padStart(2, '0')).join('')}`;
const cssHex = new Map(Object.entries(cssColors).map(([name, rgb]) => [name, hexOf(rgb)]));

let listedNames: Map<string, string> | undefined;

/** A colour name without what people vary: case, accents, spaces, hyphens, and gray for grey. */
function nameKey(name: string): string {
  return name
    .normalize('NFKD')
    .toLowerCase()
    .replace(/[^a-z0-9]/g, '')
    .replaceAll('gray', 'grey');
}

/** The list of 30,000 names, by key. To load it costs about 40 ms and 10 MB: better before a call than during one. */
export function loadColorNames(): ReadonlyMap<string, string> {
  if (listedNames) return listedNames;
  // The build copies it from the package `color-name-list`.
  const file = new URL(
    'dist/assets/color-name-list/colors.json',
    import.meta.resolve('helper-gateway/package.json'),
  );
  const colors: [name: string, hex: string][] = JSON.parse(readFileSync(file, 'utf8'));
  const byKey = new Map<string, string>();
  for (const [name, hex] of colors) {
    const key = nameKey(name);
    if (!byKey.has(key)) byKey.set(key, hex);
  }
  listedNames = byKey;
  return byKey;
}

/** `#rrggbb` of a name by its key. */
type Look = (key: string) => string | undefined;
const cssColor: Look = (key) => cssHex.get(key);
const listedColor: Look = (key) => loadColorNames().get(key);

const phraseCharacters = /^[a-z0-9 ,'’_-]+$/;
const fillers = new Set(['a', 'an', 'the', 'and', 'shade', 'tint', 'tone', 'of', 'color', 'colour']);
/** CSS's brown comes from X11, where it is a red; a light brown is not rose. */
const plainBrown = '#8b5a2b';

/**
 * `#rrggbb` of a colour name or a descriptive phrase, or undefined; `text` is in lower case. The first that fits wins: a CSS name,
 * modifiers with a CSS name, a listed name, modifiers with a listed name, with the longest base and the fewest modifiers.
 * Modifiers apply from the base outwards: "pale warm yellow" is a warm yellow made pale. Own code because packages for
 * colours read names and CSS; none is known that reads phrases.
 */
export function parsePhrase(text: string): string | undefined {
  // Keys drop what is no letter, so other scripts have to go before: "日本 red" is not red.
  if (!phraseCharacters.test(text.normalize('NFKD').replace(/\p{M}/gu, ''))) return undefined;
  const css = cssColor(nameKey(text));
  if (css !== undefined) return css;

  const words = text.split(/[ ,_-]+/).filter((word) => word !== '' && !fillers.has(word));
  if (words.length === 0 || words.every(isModifierWord)) return undefined;

  return modified(words, cssColor) ?? listedColor(nameKey(text)) ?? modified(words, listedColor);
}

function modified(words: string[], look: Look): string | undefined {
  for (let start = 0; start < words.length; start += 1) {
    const steps = readSteps(words.slice(0, start));
    if (steps === undefined) continue;
    const base = words.slice(start);
    // "cool" and "dark" are on the list, but as a base they are a phrase that was not finished.
    if (base.every(isModifierWord)) return undefined;
    const found = look(nameKey(base.join('')));
    if (found === undefined) continue;
    const hex = start > 0 && base.join('') === 'brown' ? plainBrown : found;
    return steps.reduceRight(
      (changed, { modifier, strength }) => modifyColor(changed, modifier, strength),
      hex,
    );
  }
  return undefined;
}

function readSteps(words: string[]): { modifier: Modifier; strength: number }[] | undefined {
  const steps: { modifier: Modifier; strength: number }[] = [];
  let strength = 1;
  for (const word of words) {
    const intensity = intensifiers.get(word);
    const modifier = modifiers.get(word);
    if (intensity !== undefined && strength === 1) strength = intensity;
    else if (modifier !== undefined) {
      steps.push({ modifier, strength });
      strength = 1;
    } else return undefined;
  }
  return strength === 1 ? steps : undefined;
}

function isModifierWord(word: string): boolean {
  return modifiers.has(word) || intensifiers.has(word);
}

const mostWords = 6;
const cssNames = Object.keys(cssColors);

/** The words of a CSS name, which CSS writes as one: `darkseagreen` is dark, sea, green. */
function wordsOf(name: string): string[] {
  const first = [...modifiers.keys()].find((word) => name.startsWith(word) && name.length > word.length);
  if (first !== undefined) return [first, ...wordsOf(name.slice(first.length))];
  const last = cssNames.find((each) => name.endsWith(each) && name.length > each.length);
  return last === undefined ? [name] : [...wordsOf(name.slice(0, -last.length)), last];
}

const phraseWords = [
  ...new Set([...modifiers.keys(), ...intensifiers.keys(), ...cssNames.flatMap(wordsOf), ...cssNames]),
];
const knownWords = new Set(phraseWords);

/** The colour phrase that `text`, in lower case, is a slip of: each word that is not known is replaced by the nearest that is. */
export function nearestPhrase(text: string): string | undefined {
  const words = text.split(/[ ,_-]+/).filter((word) => word !== '');
  if (words.length > mostWords) return undefined;
  const meant: string[] = [];
  for (const word of words) {
    // A slip seldom hits the first letter but by changing places with the second; to look further costs ten times as much.
    const near = () => phraseWords.filter((each) => each[0] === word[0] || each[0] === word[1]);
    const found = knownWords.has(word) ? word : nearest(word, near());
    if (found === undefined) return undefined;
    meant.push(found);
  }
  const phrase = meant.join(' ');
  return phrase !== '' && parsePhrase(phrase) !== undefined ? phrase : undefined;
}
