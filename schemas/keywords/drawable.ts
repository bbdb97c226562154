import type { FuncKeywordDefinition } from 'ajv';
import { quote } from '../quote.js';
import { normalisingKeyword } from './keyword.js';

/** The characters of `text` that no font can draw, each once; empty where all can be drawn. */
export type CanDraw = (text: string) => string[];

const mostNamed = 5;

const lineBreak = /\r?\n/g;

/**
 * `drawable: true` on a string: every character can be drawn. Without `canDraw` every string passes. With `{ lines: true }` a line
 * break passes too, and becomes a line feed.
 */
export function drawableKeyword(canDraw?: CanDraw): FuncKeywordDefinition {
  return normalisingKeyword({
    keyword: 'drawable',
    type: 'string',
    metaSchema: { enum: [true, { lines: true }] },
    prepare: (setting) => (value) => {
      const lines = setting === true ? [value as string] : (value as string).split(lineBreak);
      const missing = canDraw?.(lines.join(' ')) ?? [];
      if (missing.length === 0) return { ok: true, value: lines.join('\n') };
      return { ok: false, problem: `has characters that no font here can draw: ${nameCharacters(missing)}` };
    },
  });
}

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
