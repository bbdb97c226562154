const tag = /^([a-z]{2})(?:[-_][a-z]{2,4})?$/;
const threeLetters = /^[a-z]{3}$/;

/**
 * Whether `wanted` names by its two letters (ISO 639-1: `es`, `en-gb`) the language that `known` names by three
 * (ISO 639-3: `spa`, `eng`); both in lower case.
 */
export function sameLanguage(wanted: string, known: string): boolean {
  const two = tag.exec(wanted)?.[1];
  if (two === undefined || !threeLetters.test(known)) return false;
  try {
    // Three letters become two where a language has them (ECMA-402, the canonical form of a tag).
    return Intl.getCanonicalLocales(known)[0] === two;
  } catch {
    return false;
  }
}
