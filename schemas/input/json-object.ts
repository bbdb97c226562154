import { boundProblems, type FieldProblem } from '../field-problem.js';
import { fieldName } from '../quote.js';
import { type JsonScan, scanJson } from './json-scan.js';

/** What a text held, or why it is refused. */
export type Read<T> = { value: T } | { problems: FieldProblem[] };

/** Reads JSON text of an object of at most 1000 names, none of them too long, and 32 levels; says what it is instead, or which name came twice. */
export function readJsonObject(text: string): Read<Record<string, unknown>> {
  const scan = scanJson(text);
  if ('problem' in scan) return ofBody(scan.problem);
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    return ofBody(`must be JSON: ${(error as Error).message.slice(0, 200)}`);
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    const is = value === null ? 'null' : Array.isArray(value) ? 'an array' : `a ${typeof value}`;
    return ofBody(`must be a JSON object, but is ${is}`);
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

function ofBody(problem: string): { problems: FieldProblem[] } {
  return { problems: [{ field: 'body', problem }] };
}
