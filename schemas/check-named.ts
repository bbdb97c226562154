import { type FieldProblem, toldProblems } from './field-problem.js';
import type { JsonSchema } from './json-schema.js';
import type { Copied } from './parameters/copy.js';
import { fieldName } from './quote.js';

/** What values by name are judged by. */
export interface NamedRules {
  /** The schema of each name that is known. */
  schemas: ReadonlyMap<string, JsonSchema>;
  /** A copy of what was sent under a known name, or why it is refused before its schema judges it. */
  take(schema: JsonSchema, value: unknown): Copied;
  /** What is wrong with a name that is not known. */
  unknown(name: string): string;
  /** Judges what was taken, into which defaults and normal forms are written. */
  judge(values: Record<string, unknown>): FieldProblem[];
}

export interface CheckedNames {
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
      if (unknownCount <= toldProblems) others.push({ field: fieldName(name), problem: unknown(name) });
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
