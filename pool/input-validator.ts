import { type ValidatedInput, validateRawInput } from '../schemas/input/validate-input.js';
import type { Abilities } from '../schemas/keywords/keyword.js';
import { compileParameters, type ParameterChecker } from '../schemas/parameters/parameters.js';
import { createVocabulary } from '../schemas/vocabulary.js';
import type { JudgeTask } from './task.js';

/**
 * Judges inputs in a worker as the main thread does, by the same schemas, each compiled when it is first needed. For what
 * would keep everybody waiting there: long texts and lists.
 */
export function createJudge(by: Abilities): (task: JudgeTask) => ValidatedInput {
  const ajv = createVocabulary(by);
  const compiled = new Map<string, ParameterChecker>();
  return function judge({ service, declaration, raw, runsDry }) {
    let parameters = compiled.get(service);
    if (!parameters) {
      parameters = compileParameters(ajv, declaration, { checked: true });
      compiled.set(service, parameters);
    }
    return validateRawInput(parameters, raw, { runsDry });
  };
}
