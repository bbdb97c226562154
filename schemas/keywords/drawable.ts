import { quote } from '../quote.js';
import type { Keyword } from './keyword.js';

const mostNamed = 5;
const lineBreak = /\r?\n/g;

/**
 * `drawable: true` on a string: every character can be drawn. With `{ lines: true }` a line break passes too, and becomes a line
 * feed. What a schema says of the string stays, and ends in `drawableNote`.
 */
export const drawable: Keyword<true | { lines: true }> = {
  name: 'drawable',
  type: 'string',
  metaSchema: { enum: [true, { lines: true }] },
  accepts: (setting) => setting !== undefined,
  prepare: (setting, _, { canDraw }) =>
    function normaliseDrawable(text) {
      const lines = setting === true ? [text] : text.split(lineBreak);
      const missing = canDraw?.(lines.join(' ')) ?? [];
      if (missing.length === 0) return { value: lines.join('\n') };
      return { problem: `has characters that no font here can draw: ${nameCharacters(missing)}` };
    },
};

export const drawableNote = ' that the fonts here can draw';

function nameCharacters(characters: string[]): string {
  const names = characters.slice(0, mostNamed).map((character) => {
    const points = Array.from(
      character,
      (each) => `U+${(each.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0')}`,
    );
    return `${quote(character)} (${points.join(' ')})`;
  });
  const more = characters.length - mostNamed;
  return names.join(', ') + (more > 0 ? ` and ${more} more` : '');
}
