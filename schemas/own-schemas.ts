import type { Ajv, Options, ValidateFunction } from 'ajv';
import { compiledQuickly } from './compiled-quickly.js';

/**
 * For schemas that are written here and no plugin's: a test holds them against the rules of JSON Schema, which take longer to compile
 * than what is judged by them.
 */
export const ownSchemas = { ...compiledQuickly, meta: false, validateSchema: false } satisfies Options;

let compiled = 0;

/**
 * Compiles a schema that is written here, or that has been checked before, with a validator that would check it against the rules of
 * JSON Schema first.
 */
export function compileChecked(ajv: Ajv, schema: object): ValidateFunction {
  compiled += 1;
  const key = `checked-${compiled}`;
  return ajv.addSchema(schema, key, undefined, false).getSchema(key) as ValidateFunction;
}
