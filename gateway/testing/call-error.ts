import type { FieldProblem } from '../../schemas/field-problem.js';
import type { CallError } from './types.js';

/** An error as a test meets it: with the code and the details of the envelope, and for what is a fault with what was thrown. */
export function callError(
  code: string,
  message: string,
  { details, cause }: { details?: FieldProblem[] | undefined; cause?: unknown } = {},
): CallError {
  const error = new Error(message, cause === undefined ? {} : { cause });
  return Object.assign(error, { code, ...(details ? { details } : {}) });
}

/** Problems as one line. */
export function told(details: readonly FieldProblem[]): string {
  return details.map(({ field, problem }) => `${field} ${problem}`).join('; ');
}
