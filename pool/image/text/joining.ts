const mark = /\p{M}/u;
const arabic = /[\p{Script=Arabic}\p{Script=Syriac}\p{Script=Nko}]/u;
const letter = /\p{L}/u;
const hamza = '\u0621';

/** Arabic and Syriac letters that never join the one after them: Joining_Type R and U of ArabicShaping.txt (Unicode 16). */
const endsJoin =
  /[\u0621-\u0625\u0627\u0629\u062f-\u0632\u0648\u0671-\u0677\u0688-\u0699\u06c0\u06c3-\u06cb\u06cd\u06cf\u06d2\u06d3\u06d5\u06ee\u06ef\u0710\u0715-\u0719\u071e\u0728\u072a\u072c\u072f\u074d\u0759-\u075b\u076b\u076c\u0771\u0773\u0774\u0778\u0779]/;

/**
 * What a line ends in, and the next begins with, where joined letters are parted, so that they keep their shape: a zero width
 * joiner, and a mark that has a direction, since a joiner at the edge has none and would be drawn apart from its letter.
 */
export const parted = { end: '\u200d\u200f', start: '\u200f\u200d' };

/** Whether the letters before and after a break at `index` join each other. */
export function joinsAt(text: string, index: number): boolean {
  if (index <= 0 || index >= text.length) return false;
  let before = index - 1;
  while (before > 0 && mark.test(text[before] as string)) before--;
  const one = text[before] as string;
  const next = text[index] as string;
  const letters = [one, next].every((character) => arabic.test(character) && letter.test(character));
  return letters && !endsJoin.test(one) && next !== hamza;
}
