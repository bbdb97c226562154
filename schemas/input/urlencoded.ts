import { type FieldProblem, fieldName } from '../field-problem.js';
import { longName, mostNameCharacters } from './json.js';

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
    if (name === undefined) {
      problems.push({ field: place, problem: 'must be percent-encoded UTF-8; a parameter name is not' });
    } else if (value === undefined) {
      problems.push({
        field: fieldName(name),
        problem: 'must be percent-encoded UTF-8 (a % itself is written %25)',
      });
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
