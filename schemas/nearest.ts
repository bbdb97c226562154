import { distance } from 'fastest-levenshtein';
import { join } from './quote.js';

const languageTag = /^([a-z]{2,3})(?:[-_][a-z]{2,4})?$/;
const threeLetters = /^[a-z]{3}$/;
const englishName = /^[a-z]{4,20}$/;
let languageNames: Intl.DisplayNames | undefined;

/**
 * Whether `wanted` names the language that `known` names by three letters (ISO 639-3: `spa`, `deu`): by two letters (ISO 639-1:
 * `es`, `en-gb`), by another code of three (ISO 639-2/B: `ger`), or in English (`german`); both in lower case.
 */
function sameLanguage(wanted: string, known: string): boolean {
  if (!threeLetters.test(known)) return false;
  try {
    const [code = known] = Intl.getCanonicalLocales(known);
    if (englishName.test(wanted)) {
      languageNames ??= new Intl.DisplayNames('en', { type: 'language', fallback: 'none' });
      return languageNames.of(code)?.toLowerCase() === wanted;
    }
    const written = languageTag.exec(wanted)?.[1];
    // Three letters become two where a language has them (ECMA-402, the canonical form of a tag).
    return written !== undefined && Intl.getCanonicalLocales(written)[0] === code;
  } catch {
    return false;
  }
}

/** The distance costs the product of both lengths, and the name comes from outside. */
const longest = 128;
/** Less said than meant is likelier than a slip of the finger, and the more likely the less is left out. */
const restCost = 0.5;
/** What stands behind a known name was meant to say something. */
const extraCharacterCost = 0.25;
/** A folder that was left out, or is another one. */
const folderCost = 0.5;
/** Of two candidates that differ by less than this, either may be meant. */
const hardlyFarther = 0.4;

/**
 * The candidate that `name` is most likely meant for, or undefined where none is near. In this order of trust: the same
 * but for case, spaces, `-` and `_`; the same language (`en`, `eng`); the beginning of a name, or a name with more behind it;
 * a slip, which changes at most a third of the letters, or two, or half of a short name (Levenshtein); the beginning with a slip;
 * and all that again for the last segment of a path alone. A tie goes to the candidate that comes first.
 * Own code around the package's distance, which knows nothing of words left out, paths and languages.
 */
export function nearest(name: string, candidates: readonly string[]): string | undefined {
  return nearestFew(name, candidates, 1)[0];
}

/** The same and those that are hardly farther, `most` in all. */
function nearestFew(name: string, candidates: readonly string[], most: number): string[] {
  if (name.length === 0 || name.length > longest) return [];
  const wanted = name.toLowerCase();
  let near: { candidate: string; far: number }[] = [];
  let least = Number.POSITIVE_INFINITY;
  for (const candidate of candidates) {
    const far = candidate.length > longest ? least + 1 : distanceOf(wanted, candidate.toLowerCase());
    if (far >= least + hardlyFarther) continue;
    least = Math.min(least, far);
    near.push({ candidate, far });
  }
  near = near.filter(({ far }) => far < least + hardlyFarther).sort((one, other) => one.far - other.far);
  return near.slice(0, most).map(({ candidate }) => candidate);
}

/** Values that are suggested at most where one of many was meant. */
export const mostMeant = 3;

/** `; did you mean "x"?`, with as many that are about as near, or nothing where no candidate is near. */
export function didYouMean(name: string, candidates: readonly string[], most = 1): string {
  const found = nearestFew(name, candidates, most);
  const quoted = found.map((each) => `"${each}"`);
  return quoted.length === 0 ? '' : `; did you mean ${join('or', quoted)}?`;
}

/** The distance of a name from a known one, in changed letters; infinite where there is no likeness. */
function distanceOf(wanted: string, known: string): number {
  if (lettersOf(wanted) === lettersOf(known) && lettersOf(known) !== '') return 0;
  if (sameLanguage(wanted, known)) return 0.1;
  const whole = Math.min(slip(wanted, known), beginning(wanted, known));
  const wantedLast = lastSegment(wanted);
  const knownLast = lastSegment(known);
  // `text/*` is no path with a name at its end.
  if (knownLast === known || knownLast === '*') return whole;
  const last =
    wantedLast === knownLast ? 0 : Math.min(slip(wantedLast, knownLast), beginning(wantedLast, knownLast));
  const sameFolder = folder(wanted) === folder(known);
  return Math.min(whole, last + (sameFolder ? 0 : folderCost));
}

function slip(wanted: string, known: string): number {
  // As many letters as one is longer have to change at least.
  if (Math.abs(wanted.length - known.length) > slips(known.length)) return Number.POSITIVE_INFINITY;
  const changes = isSwapped(wanted, known) ? 1 : distance(wanted, known);
  // Half of a short name is hardly a slip where not even its beginning is the same: `gif` is not meant for `avif`.
  const isOther = changes * 2 >= known.length && changes > 1 && wanted[0] !== known[0];
  return changes <= slips(known.length) && !isOther ? changes : Number.POSITIVE_INFINITY;
}

/** Two neighbours in the wrong order are one slip, which Levenshtein counts as two. */
function isSwapped(wanted: string, known: string): boolean {
  let at = 0;
  while (at < wanted.length && wanted[at] === known[at]) at += 1;
  const swapped = `${wanted.slice(0, at)}${wanted[at + 1] ?? ''}${wanted[at] ?? ''}${wanted.slice(at + 2)}`;
  return wanted !== known && swapped === known;
}

function slips(length: number): number {
  return Math.min(Math.max(2, Math.floor(length / 3)), Math.floor(length / 2));
}

/** One is how the other begins; of a name that goes on, the beginning may have a slip in it, past its first letter. */
function beginning(wanted: string, known: string): number {
  if (wanted.length >= 3 && known.length >= 3 && wanted.startsWith(known)) {
    return restCost + (wanted.length - known.length) * extraCharacterCost;
  }
  const rest = known.length - wanted.length;
  if (rest <= 0 || wanted.length < 2) return Number.POSITIVE_INFINITY;
  const cost = restCost + rest / longest;
  if (known.startsWith(wanted)) return cost;
  if (wanted.length < 4 || wanted[0] !== known[0]) return Number.POSITIVE_INFINITY;
  const beginnings = [-1, 0, 1].map((more) => known.slice(0, wanted.length + more));
  const changes = Math.min(...beginnings.map((each) => distance(wanted, each)));
  return changes <= Math.floor(wanted.length / 4) ? changes + cost : Number.POSITIVE_INFINITY;
}

function lettersOf(name: string): string {
  return name.replaceAll(/[\s_-]/g, '');
}

function lastSegment(path: string): string {
  return path.slice(path.lastIndexOf('/') + 1);
}

function folder(path: string): string {
  return path.slice(0, path.lastIndexOf('/') + 1);
}
