/** Arabic Presentation Forms B before A: for a letter that is in both, its isolated and final forms are in B. */
const blocks = [
  [0xfe80, 0xfefc],
  [0xfb50, 0xfbff],
] as const;

let forms: Map<string, string[]> | undefined;

/** The forms of each letter in the order in which Unicode lists them: isolated, final, initial, medial. */
function formsByLetter(): Map<string, string[]> {
  const found = new Map<string, string[]>();
  for (const [first, last] of blocks) {
    for (let codePoint = first; codePoint <= last; codePoint++) {
      const form = String.fromCodePoint(codePoint);
      const letter = form.normalize('NFKC');
      if (letter.length === 1 && letter !== form) found.set(letter, [...(found.get(letter) ?? []), form]);
    }
  }
  return found;
}

/** The character for an Arabic letter as it looks joined to the one before it, after it or both; itself where there is none. */
export function joinedForm(letter: string, before: boolean, after: boolean): string {
  forms ??= formsByLetter();
  return forms.get(letter)?.[(before ? 1 : 0) + (after ? 2 : 0)] ?? letter;
}
