import type { FieldProblem } from '../../schemas/problem.js';
import { boundProblems } from '../../schemas/problems.js';
import { fieldName } from '../../schemas/quote.js';
import { GatewayError } from '../errors.js';

/** Parses a JSON body that must be an object; throws `invalid_input` saying what it is instead, or which name came twice. */
export function parseJsonObject(text: string): Record<string, unknown> {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    throw invalid([{ field: 'body', problem: `must be JSON: ${(error as Error).message.slice(0, 200)}` }]);
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    const is = value === null ? 'null' : Array.isArray(value) ? 'an array' : `a ${typeof value}`;
    throw invalid([{ field: 'body', problem: `must be a JSON object, but is ${is}` }]);
  }
  const twice = repeatedNames(text);
  if (twice.length > 0) {
    const problem = 'must be given once, but is given more than once';
    throw invalid(boundProblems(twice.map((name) => ({ field: fieldName(name), problem }))));
  }
  return value as Record<string, unknown>;
}

const token = /"(?:[^"\\]|\\.)*"|[{}[\]:,]/gy;
const filler = /[^"{}[\]:,]+/gy;

/**
 * The names that stand more than once in the outermost object of valid JSON text: `JSON.parse` keeps the last and says
 * nothing. One pass over the tokens, linear in the text.
 */
export function repeatedNames(text: string): string[] {
  const seen = new Set<string>();
  const twice = new Set<string>();
  let depth = 0;
  let last = '';
  let at = 0;
  while (at < text.length) {
    filler.lastIndex = at;
    if (filler.test(text)) at = filler.lastIndex;
    token.lastIndex = at;
    const part = token.exec(text)?.[0];
    if (part === undefined) break;
    at = token.lastIndex;
    if (part === '{' || part === '[') depth += 1;
    else if (part === '}' || part === ']') depth -= 1;
    else if (part === ':' && depth === 1) {
      const name = JSON.parse(last) as string;
      if (seen.has(name)) twice.add(name);
      seen.add(name);
    }
    last = part;
  }
  return [...twice];
}

function invalid(details: FieldProblem[]): GatewayError {
  return new GatewayError('invalid_input', { details });
}
