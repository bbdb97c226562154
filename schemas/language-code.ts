const tag = /^([a-z]{2,3})(?:[-_][a-z]{2,4})?$/;
const threeLetters = /^[a-z]{3}$/;
const englishName = /^[a-z]{4,20}$/;
let names: Intl.DisplayNames | undefined;

/**
 * Whether `wanted` names the language that `known` names by three letters (ISO 639-3: `spa`, `deu`): by two letters (ISO 639-1:
 * `es`, `en-gb`), by another code of three (ISO 639-2/B: `ger`), or in English (`german`); both in lower case.
 */
export function sameLanguage(wanted: string, known: string): boolean {
  if (!threeLetters.test(known)) return false;
  try {
    const [code = known] = Intl.getCanonicalLocales(known);
    if (englishName.test(wanted)) {
      names ??= new Intl.DisplayNames('en', { type: 'language', fallback: 'none' });
      return names.of(code)?.toLowerCase() === wanted;
    }
    const written = tag.exec(wanted)?.[1];
    // Three letters become two where a language has them (ECMA-402, the canonical form of a tag).
    return written !== undefined && Intl.getCanonicalLocales(written)[0] === code;
  } catch {
    return false;
  }
}
