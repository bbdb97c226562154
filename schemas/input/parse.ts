import { boundProblems, type FieldProblem, fieldName } from '../field-problem.js';

/**
 * The url that a text is, against `base` where it is relative; undefined where it is none. It stands in place of `URL.canParse`, which on
 * Node 20 refuses each url with a letter such as ü once it has been called some thousands of times and V8 has optimised the caller.
 */
export function tryUrl(text: string, base?: string | URL): URL | undefined {
  try {
    return new URL(text, base);
  } catch {
    return undefined;
  }
}

/** Parameters that were sent as text, by name, and problems with how they were sent. */
export interface QueryText {
  values: Map<string, string>;
  problems: FieldProblem[];
}

/** More parameters than any helper has; past it the rest is not even looked at. */
const maxParameters = 1000;

/**
 * Parses `application/x-www-form-urlencoded` text, a query string or a body, in linear time. A name that comes twice,
 * bytes that are not UTF-8 and too many parameters are problems, not guesses; those of no one field name `place`. Koa's own
 * `ctx.query` is quadratic in the number of parameters and would run before the key is known; `URLSearchParams` makes U+FFFD of
 * what is not UTF-8 and says nothing.
 */
export function parseUrlencoded(text: string, place: 'query' | 'body' = 'query'): QueryText {
  const values = new Map<string, string>();
  const problems: FieldProblem[] = [];
  const twice = new Set<string>();
  let hasLongName = false;
  let at = 0;
  for (let count = 0; at < text.length; count += 1) {
    if (count === maxParameters) {
      problems.push({ field: place, problem: `must not hold more than ${maxParameters} parameters` });
      break;
    }
    const and = text.indexOf('&', at);
    const end = and === -1 ? text.length : and;
    if (end > at) read(text.slice(at, end));
    at = end + 1;
  }
  return { values, problems };

  function read(pair: string): void {
    const equals = pair.indexOf('=');
    if ((equals === -1 ? pair.length : equals) > mostNameCharacters) {
      if (!hasLongName) problems.push({ field: place, problem: longName });
      hasLongName = true;
      return;
    }
    const name = decode(equals === -1 ? pair : pair.slice(0, equals));
    const value = decode(equals === -1 ? '' : pair.slice(equals + 1));
    const encoding = 'must be percent-encoded UTF-8';
    if (name === undefined) {
      problems.push({ field: place, problem: `${encoding}; a parameter name is not` });
    } else if (value === undefined) {
      problems.push({ field: fieldName(name), problem: `${encoding} (a % itself is written %25)` });
    } else if (!values.has(name)) values.set(name, value);
    else if (!twice.has(name)) {
      twice.add(name);
      problems.push({ field: fieldName(name), problem: 'must be given once, but is given more than once' });
    }
  }
}

function decode(text: string): string | undefined {
  try {
    return decodeURIComponent(text.replaceAll('+', ' '));
  } catch {
    return undefined;
  }
}

const decoder = new TextDecoder('utf-8', { fatal: true });

/** What a text held, or why it is refused. */
export type ReadResult<T> = { value: T } | { problems: FieldProblem[] };

/** The text of a body or a field, or the problem where its bytes are not UTF-8. */
export function readUtf8(bytes: Uint8Array, field = 'body'): ReadResult<string> {
  try {
    return { value: decoder.decode(bytes) };
  } catch {
    return { problems: [{ field, problem: 'must be UTF-8 text' }] };
  }
}

/** What JSON text contains, by its brackets and quotes alone. */
interface JsonScan {
  /** Names in all, at any depth. */
  names: number;
  /** Objects, lists and other values at any depth; never fewer than there are. */
  values: number;
  /** Where the names of the outermost object are in the text, with their quotes: begin and end alternate. */
  outer: number[];
}

/** More names than any input has: to make an object of more costs too much. */
export const mostNames = 1000;
/**
 * Characters of a name. V8 hashes strings of more than 16,383 characters by their length alone, so that a thousand long names
 * of one length take seconds to become an object, a map or a set.
 */
const mostNameCharacters = 8_192;
/** Levels of objects and lists in each other. */
export const mostLevels = 32;

const longName = `must not have names of more than ${mostNameCharacters} characters`;

const quoteByte = 0x22;
const backslash = 0x5c;

/**
 * Scans JSON text before it is parsed: counts names and levels, and stops with the reason where there are too many or a name is too
 * long. To parse an object of 100,000 names costs a hundred times as much as to send it, and far more where the hashes of the names
 * collide (V8 hashes decimal integers as themselves). One linear pass, whatever the text; `JSON.parse` reports what is not JSON.
 */
export function scanJson(text: string): JsonScan | { problem: string } {
  const scan: JsonScan = { names: 0, values: 1, outer: [] };
  let depth = 0;
  let from = 0;
  let to = 0;
  for (let at = 0; at < text.length; at += 1) {
    switch (text.charCodeAt(at)) {
      case quoteByte:
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

/** Reads JSON text of an object of at most 1000 names, none too long, and 32 levels; else gives the problem, such as a repeated name. */
export function readJsonObject(text: string): ReadResult<Record<string, unknown>> {
  const scan = scanJson(text);
  if ('problem' in scan) return bodyProblem(scan.problem);
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    return bodyProblem(`must be JSON: ${(error as Error).message.slice(0, 200)}`);
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    const is = value === null ? 'null' : Array.isArray(value) ? 'an array' : `a ${typeof value}`;
    return bodyProblem(`must be a JSON object, but is ${is}`);
  }
  const twice = repeatedNames(text, scan);
  if (twice.length > 0) {
    const problem = 'must be given once, but is given more than once';
    return { problems: boundProblems(twice.map((name) => ({ field: fieldName(name), problem }))) };
  }
  return { value: value as Record<string, unknown> };
}

/** Names that stand more than once in the outermost object: `JSON.parse` keeps the last and says nothing. */
function repeatedNames(text: string, { outer: places }: Pick<JsonScan, 'outer'>): string[] {
  const seen = new Set<string>();
  const twice = new Set<string>();
  for (let at = 0; at < places.length; at += 2) {
    const name = JSON.parse(text.slice(places[at], places[at + 1])) as string;
    if (seen.has(name)) twice.add(name);
    seen.add(name);
  }
  return [...twice];
}

function bodyProblem(problem: string): { problems: FieldProblem[] } {
  return { problems: [{ field: 'body', problem }] };
}
