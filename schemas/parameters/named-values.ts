import { describeBriefly } from '../describe.js';
import { mismatch } from '../explain-errors.js';
import { type FieldProblem, fieldName, mostProblems } from '../field-problem.js';
import { mostLevels } from '../input/json.js';
import { followReference, type JsonSchema } from '../json-schema.js';
import { formsOf } from './coerce.js';

const mostElements = 10_000;

/** A copy of a JSON value, or why it is refused. */
export type Copied = { value: unknown } | { problem: string };

interface NamedRules {
  /** The schema of each known name. */
  schemas: ReadonlyMap<string, JsonSchema>;
  /** A copy of a value with a known name, or why it is refused before its schema validates it. */
  copy(schema: JsonSchema, value: unknown): Copied;
  /** What is wrong with an unknown name. */
  unknown(name: string): string;
  /** Validates the copies; writes defaults and normal forms into them. */
  validate(values: Record<string, unknown>): FieldProblem[];
}

interface CheckedNames {
  /** A fresh object with its defaults. */
  values: Record<string, unknown>;
  /** The problems of known names, one each. */
  known: FieldProblem[];
  /** Those of other names, as many as are answered, and how many there are. */
  unknown: FieldProblem[];
  unknownCount: number;
}

/** Checks values by name: a helper's parameters, or the fields of a form or body. What is undefined counts as left out. */
export function checkNamed(given: object, { schemas, copy, unknown, validate }: NamedRules): CheckedNames {
  const values: Record<string, unknown> = {};
  const refused: FieldProblem[] = [];
  const others: FieldProblem[] = [];
  let unknownCount = 0;
  for (const [name, value] of Object.entries(given)) {
    if (value === undefined) continue;
    const schema = schemas.get(name);
    if (schema === undefined) {
      unknownCount += 1;
      // The search for the name that was meant costs more than reading one.
      if (unknownCount <= mostProblems) others.push({ field: fieldName(name), problem: unknown(name) });
      continue;
    }
    const copied = copy(schema, value);
    if ('value' in copied) values[name] = copied.value;
    else refused.push({ field: name, problem: copied.problem });
  }
  const named = new Set(refused.map(({ field }) => field));
  const invalid = validate(values).filter(({ field }) => !named.has(field));
  return { values, known: [...refused, ...invalid], unknown: others, unknownCount };
}

/**
 * A copy of a parameter's value, or why it is refused before the schema validates it: null, and what is so long that validation
 * would cost more than it is worth.
 */
export function copyParameter(declared: JsonSchema, value: unknown, root: JsonSchema): Copied {
  const schema = declared.$ref === undefined ? declared : followReference(declared, root);
  if (value === null) {
    // Whatever the schema says: no query could say the same.
    const acceptsNull = formsOf(schema, root, '').some(({ type }) => type === 'null');
    return {
      problem: acceptsNull ? 'must not be null; leave it out instead' : mismatch(schema, null, root),
    };
  }
  const { maxLength, maxItems } = schema;
  // A plugin's `pattern` must not get to see what its `maxLength` refuses: ajv tries them all.
  if (typeof value === 'string' && typeof maxLength === 'number' && value.length > 2 * maxLength) {
    return {
      problem: `must be ${describeBriefly(schema, root)}, but has more than ${2 * maxLength} characters`,
    };
  }
  if (Array.isArray(value) && typeof maxItems === 'number' && value.length > maxItems) {
    // Nor its `uniqueItems`, which compares each with each.
    return { problem: `must be ${describeBriefly(schema, root)}, but has ${value.length}` };
  }
  return copyJson(value, typeof maxItems === 'number' ? maxItems : 0);
}

/**
 * A deep copy of a JSON value, so that defaults and normal forms are written into it and not into the caller's. Refuses
 * what costs more to validate than it is worth: more than 32 levels, more than `most` elements in all (10,000 unless the
 * schema's own `maxItems` is larger), which would be as many errors, and a key `__proto__`.
 */
export function copyJson(value: unknown, most = 0): Copied {
  const limit = Math.max(most, mostElements);
  let left = limit;
  let problem: string | undefined;

  function copy(from: unknown, depth: number): unknown {
    if (typeof from !== 'object' || from === null || problem !== undefined) return from;
    const keys = Object.keys(from);
    left -= Array.isArray(from) ? from.length : keys.length;
    if (depth > mostLevels) problem = `is nested more than ${mostLevels} levels deep`;
    else if (left < 0) problem = `has more than ${limit} elements`;
    else if (Array.isArray(from)) return from.map((item) => copy(item, depth + 1));
    else if (keys.includes('__proto__')) problem = 'has a key "__proto__", which no helper takes';
    else return Object.fromEntries(Object.entries(from).map(([key, item]) => [key, copy(item, depth + 1)]));
    return undefined;
  }

  const result = copy(value, 1);
  return problem === undefined ? { value: result } : { problem };
}
