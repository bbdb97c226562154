/** What JSON text holds, as far as its brackets and quotes tell. */
export interface JsonScan {
  /** Names in all, at any depth. */
  names: number;
  /** Objects, lists and other values at any depth; never fewer than there are. */
  values: number;
  /** Where the names of the outermost object stand in the text, with their quotes: beginning and end by turns. */
  outer: number[];
}

/** More names than any input has; more of them are not worth what it costs to make an object of them. */
export const mostNames = 1000;
/**
 * Characters of a name. V8 hashes strings of more than 16,383 characters by their length alone, so that a thousand long names
 * of one length take seconds to become an object, a map or a set.
 */
export const mostNameCharacters = 8_192;
/** Levels of objects and lists in each other. */
export const mostLevels = 32;

/** The problem of what holds a name that is too long. */
export const longName = `must not have names of more than ${mostNameCharacters} characters`;

const quote = 0x22;
const backslash = 0x5c;

/**
 * Reads over JSON text before anything is made of it: counts names and levels, and stops with the reason where there are too
 * many or a name is too long. An object of 100,000 names takes a hundred times as long to make as to send, and names whose hashes collide (V8
 * takes decimal integers as they are) longer than that by far. One pass, linear whatever the text holds; what is not
 * JSON is left for `JSON.parse` to say, which counts nothing itself.
 */
export function scanJson(text: string): JsonScan | { problem: string } {
  const scan: JsonScan = { names: 0, values: 1, outer: [] };
  let depth = 0;
  let from = 0;
  let to = 0;
  for (let at = 0; at < text.length; at += 1) {
    switch (text.charCodeAt(at)) {
      case quote:
        from = at;
        at = endOfString(text, at);
        to = at + 1;
        break;
      case 0x3a: // :
        scan.names += 1;
        if (scan.names > mostNames) return { problem: `must not hold more than ${mostNames} names` };
        if (to - from > mostNameCharacters) return { problem: longName };
        if (depth === 1) scan.outer.push(from, to);
        break;
      case 0x2c: // ,
        scan.values += 1;
        break;
      case 0x7b: // {
      case 0x5b: // [
        scan.values += 1;
        depth += 1;
        if (depth > mostLevels) return { problem: `must not be nested more than ${mostLevels} levels deep` };
        break;
      case 0x7d: // }
      case 0x5d: // ]
        depth -= 1;
        break;
    }
  }
  return scan;
}

/** Whether a text begins as only JSON does, whether or not it goes on so. */
export function looksLikeJson(text: string): boolean {
  return /^\s{0,100}(?:\{\s{0,100}["}]|\[\s{0,100}["[{\]])/.test(text);
}

/** The place of the quote that ends the string begun at `start`; the text's end where there is none. */
function endOfString(text: string, start: number): number {
  for (let end = text.indexOf('"', start + 1); end !== -1; end = text.indexOf('"', end + 1)) {
    let escapes = 0;
    while (text.charCodeAt(end - 1 - escapes) === backslash) escapes += 1;
    if (escapes % 2 === 0) return end;
  }
  return text.length;
}
