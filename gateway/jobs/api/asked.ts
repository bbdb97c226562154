import { boundProblems, type FieldProblem } from '../../../schemas/field-problem.js';
import { inputError } from '../../errors.js';
import type { UploadedFile } from '../../http/body/multipart.js';

/** A file of a form, with the field that it came in. */
export interface AskedFile extends UploadedFile {
  field: string;
}

/** What a body asks for, of which its form alone has been judged. */
export interface Asked {
  /** Absent where there is none, or none that can be read, which is among the problems. */
  service?: string;
  webhookUrl?: string;
  /** The items' texts as they were written, parts of the body; of a form, there are `fields` and `files` in their place. */
  inputs?: readonly Buffer[];
  /** Names and values of a form that all items share. */
  fields?: readonly (readonly [string, string])[];
  files?: readonly AskedFile[];
  problems: FieldProblem[];
}

/** Says what is wrong, all at once. */
export function requireNone(problems: readonly FieldProblem[]): void {
  if (problems.length > 0) throw inputError(boundProblems(problems));
}

/** Where a body asks for something twice. */
export const givenTwice = 'must be given once, but is given more than once';
