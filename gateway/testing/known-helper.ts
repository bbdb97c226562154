import type { Plugin } from '../../pool/plugin-module.js';
import { checkDeclaration } from '../../schemas/declaration.js';
import { describeDeclaration } from '../../schemas/declared-helper.js';
import { compileOutput, type JudgeOutput } from '../../schemas/output.js';
import { compileParameters } from '../../schemas/parameters.js';
import { type Abilities, createVocabulary } from '../../schemas/vocabulary/vocabulary.js';
import type { Helper } from '../helpers/registry.js';
import { callError } from './call-error.js';

/** A helper whose declaration has been judged. */
export interface KnownHelper {
  plugin: Plugin;
  helper: Omit<Helper, 'id'>;
  abilities: Abilities;
  /** Absent where it declares no output. */
  judgeOutput?: JudgeOutput;
}

/** Judges a plugin's default export as the start does, and reads it. Throws `invalid_declaration` with every reason. */
export function knowHelper(declared: object, abilities: Abilities): KnownHelper {
  const reasons = checkDeclaration(declared);
  if (reasons.length > 0) throw faulty(reasons.join('\n'));
  const declaration = describeDeclaration(declared);
  const ajv = createVocabulary(abilities);
  try {
    const parameters = compileParameters(ajv, declaration);
    return {
      plugin: declared as Plugin,
      // Without functions of its own it is called as a worker would call it.
      abilities,
      helper: { file: '', url: '', declaration, parameters },
      ...(declaration.output ? { judgeOutput: compileOutput(ajv, declaration.output) } : {}),
    };
  } catch (error) {
    throw faulty((error as Error).message);
  }
}

function faulty(reasons: string): Error {
  return callError('invalid_declaration', `the gateway would not start with this helper:\n${reasons}`);
}
