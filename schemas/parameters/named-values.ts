import { describeBriefly } from '../describe.js';
import { mismatch } from '../explain-errors.js';
import { type FieldProblem, fieldName, mostProblems } from '../field-problem.js';
import { mostLevels } from '../input/json.js';
import { followReference, type JsonSchema } from '../json-schema.js';
import { formsOf } from './coerce.js';

/** What values by name are judged by. */
interface NamedRules {
  /** The schema of each name that is known. */
  schemas: ReadonlyMap<string, JsonSchema>;
  /** A copy of what was sent under a known name, or why it is refused before its schema judges it. */
  take(schema: JsonSchema, value: unknown): Copied;
  /** What is wrong with a name that is not known. */
  unknown(name: string): string;
  /** Judges what was taken, into which defaults and normal forms are written. */
  judge(values: Record<string, unknown>): FieldProblem[];
}

interface CheckedNames {
  /** A fresh object with its defaults. */
  values: Record<string, unknown>;
  /** The problems of known names, one each. */
  judged: FieldProblem[];
  /** Those of other names, as many as are told, and how many there are. */
  unknown: FieldProblem[];
  unknownCount: number;
}

/** Checks values by name: a helper's parameters, or the fields of a form or body. What is undefined counts as left out. */
export function checkNamed(given: object, { schemas, take, unknown, judge }: NamedRules): CheckedNames {
  const values: Record<string, unknown> = {};
  const refused: FieldProblem[] = [];
  const others: FieldProblem[] = [];
  let unknownCount = 0;
  for (const [name, value] of Object.entries(given)) {
    if (value === undefined) continue;
    const schema = schemas.get(name);
    if (schema === undefined) {
      unknownCount += 1;
      // To look for the name that was meant costs more than to read one.
      if (unknownCount <= mostProblems) others.push({ field: fieldName(name), problem: unknown(name) });
      continue;
    }
    const copied = take(schema, value);
    if (copied.ok) values[name] = copied.value;
    else refused.push({ field: name, problem: copied.problem });
  }
  const named = new Set(refused.map(({ field }) => field));
  const judged = judge(values).filter(({ field }) => !named.has(field));
  return { values, judged: [...refused, ...judged], unknown: others, unknownCount };
}

/**
 * A copy of what was sent for a parameter, or why it is refused before the schema judges it: null, and what is so long that to
 * judge it would cost more than it can be worth.
 */
export function copyParameter(declared: JsonSchema, value: unknown, root: JsonSchema): Copied {
  const schema = followReference(declared, root);
  if (value === null) return { ok: false, problem: nullProblem(schema, root) };
  const { maxLength, maxItems } = schema;
  // A plugin's `pattern` must not get to see what its `maxLength` refuses: ajv tries them all.
  if (typeof value === 'string' && typeof maxLength === 'number' && value.length > 2 * maxLength) {
    const problem = `must be ${describeBriefly(schema, root)}, but has more than ${2 * maxLength} characters`;
    return { ok: false, problem };
  }
  if (Array.isArray(value) && typeof maxItems === 'number' && value.length > maxItems) {
    // Nor its `uniqueItems`, which compares each with each.
    return { ok: false, problem: `must be ${describeBriefly(schema, root)}, but has ${value.length}` };
  }
  return copyJson(value, typeof maxItems === 'number' ? maxItems : 0);
}

/** A parameter that is null is refused whatever its schema says: no query could say the same. */
function nullProblem(schema: JsonSchema, root: JsonSchema): string {
  const takesNull = formsOf(schema, root, '').some(({ type }) => type === 'null');
  return takesNull ? 'must not be null; leave it out instead' : mismatch(schema, null, root);
}

const mostElements = 10_000;

/** A copy of a JSON value, or why it is refused. */
export type Copied = { ok: true; value: unknown } | { ok: false; problem: string };

/**
 * A deep copy of a JSON value, so that defaults and normal forms are written into it and not into the caller's. Refuses
 * what costs more to judge than it can be worth: more than 32 levels, more than `most` elements in all (10,000 unless the
 * schema's own `maxItems` is larger), which would be as many errors, and a key `__proto__`.
 */
export function copyJson(value: unknown, most = 0): Copied {
  if (typeof value !== 'object' || value === null) return { ok: true, value };
  const limit = Math.max(most, mostElements);
  let left = limit;
  let problem: string | undefined;

  function copy(from: unknown, depth: number): unknown {
    if (typeof from !== 'object' || from === null || problem !== undefined) return from;
    if (depth > mostLevels) {
      problem = `is nested more than ${mostLevels} levels deep`;
      return undefined;
    }
    const keys = Object.keys(from);
    left -= Array.isArray(from) ? from.length : keys.length;
    if (left < 0) {
      problem = `has more than ${limit} elements`;
      return undefined;
    }
    if (Array.isArray(from)) return from.map((item) => copy(item, depth + 1));
    if (keys.includes('__proto__')) {
      problem = 'has a key "__proto__", which no helper takes';
      return undefined;
    }
    return Object.fromEntries(Object.entries(from).map(([key, item]) => [key, copy(item, depth + 1)]));
  }

  const result = copy(value, 1);
  return problem === undefined ? { ok: true, value: result } : { ok: false, problem };
}
