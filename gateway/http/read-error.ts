import type { FieldProblem } from '../../schemas/field-problem.js';
import { type ErrorCode, type ErrorEntry, errorTable, GatewayError } from '../errors.js';

interface Raised {
  code: ErrorCode;
  entry: ErrorEntry;
}

/** What may be raised below the gateway, by the code that it has there. */
const raisable = new Map<unknown, Raised>();
for (const [code, entry] of Object.entries<ErrorEntry>(errorTable)) {
  if (entry.raisedBy) raisable.set(entry.raisedAs ?? code, { code: code as ErrorCode, entry });
}

/** The error of the table that anything is which was thrown in the gateway: its own, the pool's, a picture's, or a fault. */
export function toGatewayError(thrown: unknown): GatewayError {
  return thrown instanceof GatewayError ? thrown : read(thrown, () => true);
}

/** The same for what a helper's handler has thrown: it may say that the input is at fault, and nothing of the gateway. */
export function readHandlerError(thrown: object): GatewayError {
  return read(thrown, ({ raisedBy }) => raisedBy === 'handler');
}

function read(cause: unknown, mayRaise: (entry: ErrorEntry) => boolean): GatewayError {
  const shape = (cause ?? {}) as Record<string, unknown>;
  const raised = raisable.get(shape.code);
  const told = raised && mayRaise(raised.entry) ? tell(raised.entry, shape) : undefined;
  if (!raised || !told) return new GatewayError('internal', { cause });
  const { retryAfter } = shape;
  return new GatewayError(raised.code, {
    ...told,
    ...(typeof retryAfter === 'number' ? { retryAfter } : {}),
    cause,
  });
}

/** What the public is told of the error's own; undefined where it does not hold what it should. */
function tell({ tells }: ErrorEntry, { message, details }: Record<string, unknown>) {
  if (tells === 'message') return { message: String(message) };
  if (tells !== 'details') return {};
  return Array.isArray(details) && details.every(isFieldProblem) ? { details } : undefined;
}

function isFieldProblem(value: unknown): value is FieldProblem {
  const { field, problem } = (value ?? {}) as Record<string, unknown>;
  return typeof field === 'string' && typeof problem === 'string';
}
