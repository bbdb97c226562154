const shown = 60;
const beforeCut = shown * 4;
// What must not reach a terminal or a log as it is: controls, bidi overrides and other invisible characters.
const invisible = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/gu;

/** `text` in double quotes for a message: at most 60 characters, with quotes, controls and invisible characters escaped. */
export function quote(text: string): string {
  const characters = Array.from(text.slice(0, beforeCut));
  const cut = characters.length > shown || text.length > beforeCut;
  const escaped = characters.slice(0, shown).join('').replace(/["\\]/g, '\\$&');
  return `"${escapeInvisible(escaped)}${cut ? '…' : ''}"`;
}

/** `a, b or c`. Own code because the first use of `Intl.ListFormat` costs each start 12 ms. */
export function join(word: 'and' | 'or', parts: readonly string[]): string {
  return [parts.slice(0, -1).join(', '), ...parts.slice(-1)].filter(Boolean).join(` ${word} `);
}

/** `text` with its controls and invisible characters, line ends and tabs too, as their codes. */
export function escapeInvisible(text: string): string {
  return text.replace(invisible, codePoint);
}

/** `text` for a terminal: of its controls only line ends and tabs stay as they are. */
export function visible(text: string): string {
  return text.replace(invisible, (character) =>
    /[\n\t]/.test(character) ? character : codePoint(character),
  );
}

/** A JSON document for a terminal: the same document, with what `visible` replaces as JSON's own escapes. */
export function visibleJson(json: string): string {
  const codeUnit = (unit: string) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`;
  return json.replace(invisible, (character) =>
    character === '\n' ? character : character.split('').map(codeUnit).join(''),
  );
}

function codePoint(character: string): string {
  return `\\u{${(character.codePointAt(0) ?? 0).toString(16)}}`;
}

/** A JSON value as messages name it, its type first: `the string "abc"`, `the number 7`, `a list of 3`, `null`. */
export function describeValue(value: unknown): string {
  if (value === null) return 'null';
  if (Array.isArray(value)) return value.length === 0 ? 'an empty list' : `a list of ${value.length}`;
  if (typeof value === 'string') return value === '' ? 'the empty string' : `the string ${quote(value)}`;
  if (typeof value === 'number' || typeof value === 'boolean') return `the ${typeof value} ${value}`;
  if (typeof value === 'undefined') return 'missing';
  return typeof value === 'object' ? 'an object' : `a ${typeof value}`;
}

/** Of more values than `over`, how many are listed. */
export interface Listing {
  over: number;
  shown: number;
}

/** In documentation, where people look for all of them. */
export const everything: Listing = { over: 100, shown: 100 };
/** In messages, which suggest the value that was meant: people do not read through dozens of others. */
export const briefly: Listing = { over: 12, shown: 5 };

/** Values in a row; of very many the first, and how many more there are. */
export function list(values: readonly string[], between: string, { over, shown }: Listing): string {
  if (values.length <= over) return values.join(between);
  return `${values.slice(0, shown).join(between)} and ${values.length - shown} more`;
}
