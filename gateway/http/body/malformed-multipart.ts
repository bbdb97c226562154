import { type GatewayError, inputError } from '../../errors.js';

/** The error for bytes that are no multipart/form-data; `what` continues its sentence and is shown to the client. */
export function malformedMultipart(what: string, cause?: unknown): GatewayError {
  const problem = `must be complete and well-formed multipart/form-data; ${what}`;
  return inputError([{ field: 'body', problem }], cause);
}
