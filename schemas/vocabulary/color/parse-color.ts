import { quote } from '../../quote.js';
import { hasAlpha, isColorFunction, parseColorFunction, parseHex } from './css-color.js';
import { nearestPhrase } from './nearest-phrase.js';
import { parsePhrase } from './phrase.js';

const longest = 100;

/** What a colour may be, for messages and documentation. */
export const colorForm =
  'a solid colour: #rgb, #rrggbb, rgb(), hsl(), a CSS name or a phrase such as "pale warm yellow"';

/** The colour, or what is wrong with the text and, on demand, what it is near to. */
export type ParsedColor =
  | { ok: true; hex: `#${string}` }
  | { ok: false; problem: string; hint?: () => string };

/**
 * Reads a colour of at most 100 characters in any case: `#rgb` and `#rrggbb` (the `#` may be missing), CSS `rgb()` and
 * `hsl()` in both syntaxes, a CSS name, a listed colour name, or modifiers with one of these names. `hex` is `#rrggbb`
 * in lower case. Alpha in any form is refused: what is drawn is solid. `form` is what problems say is allowed.
 */
export function parseColor(text: string, form = colorForm): ParsedColor {
  if (text.length > longest) {
    return refuse(`must be ${form}, of at most ${longest} characters, but has ${text.length}`);
  }
  const plain = text.trim().toLowerCase().replace(/\s+/g, ' ');
  if (hasAlpha(plain)) {
    return refuse(`must be a solid colour, without alpha, but is the string ${quote(text)}`);
  }
  const hex = parseHex(plain) ?? (isColorFunction(plain) ? parseColorFunction(plain) : parsePhrase(plain));
  if (hex === undefined) {
    return refuse(`must be ${form}, but is the string ${quote(text)}`, () => {
      const meant = nearestPhrase(plain);
      return meant === undefined ? '' : `; did you mean "${meant}"?`;
    });
  }
  return { ok: true, hex: hex as `#${string}` };
}

function refuse(problem: string, hint?: () => string): ParsedColor {
  return hint === undefined ? { ok: false, problem } : { ok: false, problem, hint };
}
