import type { Ajv } from 'ajv';
import { toProblems } from './explain-errors.js';
import type { FieldProblem } from './field-problem.js';
import type { JsonSchema } from './json-schema.js';
import { notJson } from './not-json.js';
import { closeNested } from './parameters/close-nested.js';
import { tagAlternatives } from './parameters/tag-alternatives.js';
import { hasEndlessReference, schemaFaults } from './schema-faults.js';

/** Judges an answer's data; empty where it is as declared. What it is given stays as it is. */
export type JudgeOutput = (data: object) => FieldProblem[];

/**
 * Compiles the schema of a helper's answers. Closed as parameters are: a field that is not declared is one that its readers do not
 * know of. Throws an `Error` with all that is wrong with it.
 */
export function compileOutput(ajv: Ajv, output: JsonSchema): JudgeOutput {
  const unreadable = notJson(output, 'output');
  if (unreadable.length > 0) throw faulty(unreadable);
  if (hasEndlessReference(output)) throw faulty(schemaFaults(ajv, output, 'output'));
  const { $id: _, ...schema } = tagAlternatives(closeNested(output));
  try {
    const validate = ajv.compile(schema);
    // A copy, for defaults and normal forms are written into what is judged.
    return (data) => (validate(structuredClone(data)) ? [] : toProblems(validate.errors ?? [], schema));
  } catch (error) {
    const faults = schemaFaults(ajv, output, 'output');
    throw faulty(
      faults.length > 0 ? faults : [error instanceof Error ? error.message : String(error)],
      error,
    );
  }
}

function faulty(faults: readonly string[], cause?: unknown): Error {
  return new Error(`output is not a valid schema: ${faults.join('\n')}`, { cause });
}
