import { intensifiers, type Modifier, modifiers } from './modifiers.js';
import { modifyColor } from './modify.js';
import { cssColor, listedColor, nameKey } from './names.js';

const phraseCharacters = /^[a-z0-9 ,'’_-]+$/;
const fillers = new Set(['a', 'an', 'the', 'and', 'shade', 'tint', 'tone', 'of', 'color', 'colour']);
/** CSS took its brown from X11, where it is a red; nobody who asks for a light brown means rose. */
const plainBrown = '#8b5a2b';

interface Step {
  modifier: Modifier;
  strength: number;
}

/**
 * `#rrggbb` of a colour name or a descriptive phrase, or undefined; `text` is in
 * lower case. The first that fits wins: a CSS name, modifiers with
 * a CSS name, a listed name, modifiers with a listed name, where the longest base and the fewest modifiers are taken.
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

function modified(words: string[], look: (key: string) => string | undefined): string | undefined {
  const found = firstBase(words, look);
  return found?.steps.reduceRight((hex, step) => modifyColor(hex, step.modifier, step.strength), found.hex);
}

function firstBase(words: string[], look: (key: string) => string | undefined) {
  for (let start = 0; start < words.length; start += 1) {
    const steps = readSteps(words.slice(0, start));
    if (steps === undefined) continue;
    const base = words.slice(start);
    // "cool" and "dark" are on the list, but as a base they are a phrase that was not finished.
    if (base.every(isModifierWord)) return undefined;
    const hex = look(nameKey(base.join('')));
    if (hex !== undefined) return { hex: start > 0 && base.join('') === 'brown' ? plainBrown : hex, steps };
  }
  return undefined;
}

function readSteps(words: string[]): Step[] | undefined {
  const steps: Step[] = [];
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
