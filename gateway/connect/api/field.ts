import { closest } from 'fastest-levenshtein';
import type { FieldProblem } from '../../../schemas/problem.js';
import { GatewayError } from '../../errors.js';

type JsonSchema = Record<string, unknown>;

/** One field of a JSON body, or one parameter of a query: how it is documented, and how it is judged. */
export interface Field {
  schema: JsonSchema & { description: string };
  required?: boolean;
  /** What is wrong with a value, if anything; not asked where the field is missing. */
  problem: (value: unknown) => string | undefined;
}

export type Fields = Record<string, Field>;

/** Makes a field of one of the key store's checks, so that both say the same in the same words. */
export function field(
  schema: Field['schema'],
  check: (value: unknown) => { value: unknown } | { problem: string },
  { required = false, nullable = false } = {},
): Field {
  return {
    schema,
    required,
    problem(value) {
      // The checks take null for "left out"; in a body it is a value, and mostly a mistake.
      if (value === null && !nullable) return 'is null; leave it out instead';
      const result = check(value);
      return 'problem' in result ? result.problem : undefined;
    },
  };
}

/** Judges all that was sent at once; throws `invalid_input` naming every field with a problem. */
export function checkFields(fields: Fields, given: Readonly<Record<string, unknown>>): void {
  const problems: FieldProblem[] = [];
  for (const [name, { required, problem }] of Object.entries(fields)) {
    if (!Object.hasOwn(given, name)) {
      if (required) problems.push({ field: name, problem: 'is required' });
      continue;
    }
    const found = problem(given[name]);
    if (found) problems.push({ field: name, problem: found });
  }
  for (const name of Object.keys(given)) {
    if (!Object.hasOwn(fields, name))
      problems.push({ field: name.slice(0, 100), problem: unknown(name, fields) });
  }
  if (problems.length > 0) throw new GatewayError('invalid_input', { details: problems });
}

function unknown(name: string, fields: Fields): string {
  const names = Object.keys(fields);
  if (names.length === 0) return 'is not known here; nothing is taken';
  // Levenshtein distance is quadratic in the lengths.
  const nearest = name.length <= 100 ? `; did you mean ${closest(name, names)}?` : '';
  return `is not known; known are ${names.join(', ')}${nearest}`;
}
