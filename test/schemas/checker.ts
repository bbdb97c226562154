import type { FieldProblem } from '../../schemas/field-problem.js';
import type { JsonSchema } from '../../schemas/json-schema.js';
import {
  type CheckedInput,
  type CheckOptions,
  compileParameters,
  type ParameterDeclaration,
} from '../../schemas/parameters/parameters.js';
import { createVocabulary } from '../../schemas/vocabulary.js';

/** Each as `field problem`. */
export function inWords(problems: readonly FieldProblem[]): string[] {
  return problems.map(({ field, problem }) => `${field} ${problem}`);
}

/** Compiled parameters, of which a test compares problems as `field problem`. */
export function checkerOf(input: JsonSchema, more: Omit<ParameterDeclaration, 'input'> = {}) {
  const compiled = compileParameters(createVocabulary(), { input: { type: 'object', ...input }, ...more });
  const check = (sent: object, options: Partial<CheckOptions> = {}): CheckedInput =>
    compiled.check(sent as Record<string, unknown>, { dryrun: false, ...options });
  return {
    ...compiled,
    check,
    problems: (sent: object, options?: Partial<CheckOptions>) => inWords(check(sent, options).problems),
  };
}

/** The problems of a value as the one parameter `v` of this schema. */
export function problemsOf(value: unknown, v: JsonSchema, definitions: Record<string, JsonSchema> = {}) {
  return checkerOf({ properties: { v }, definitions }).problems({ v: value });
}

/** Why an author's schema is refused; empty where it is not. */
export function refusalOf(input: JsonSchema): string {
  try {
    checkerOf(input);
    return '';
  } catch (error) {
    return (error as Error).message;
  }
}
