import { type ValidatedInput, validateRawInput } from '../schemas/input/validate-input.js';
import type { Abilities } from '../schemas/keywords/keyword.js';
import { compileParameters, type ParameterChecker } from '../schemas/parameters/parameters.js';
import { createVocabulary } from '../schemas/vocabulary.js';
import type { ValidateTask } from './task.js';

/**
 * Validates inputs in a worker as the main thread does, by the same schemas, each compiled when it is first needed. For what
 * would block that one: long texts and lists.
 */
export function createInputValidator(by: Abilities): (task: ValidateTask) => ValidatedInput {
  const ajv = createVocabulary(by);
  const compiled = new Map<string, ParameterChecker>();
  return function validate({ service, declaration, raw, runsDry }) {
    let parameters = compiled.get(service);
    if (!parameters) {
      parameters = compileParameters(ajv, declaration, { checked: true });
      compiled.set(service, parameters);
    }
    return validateRawInput(parameters, raw, { runsDry });
  };
}
