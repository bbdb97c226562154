import type { FieldProblem } from '../../schemas/field-problem.js';
import { type ErrorCode, type ErrorEntry, errorTable, GatewayError } from '../errors.js';

interface Raised {
  code: ErrorCode;
  entry: ErrorEntry;
}

/** Characters of an author's message: it goes into logs and terminals. */
const mostCharacters = 1_000;

/** What may be raised below the gateway, by the code that it has there. */
const raisable = new Map<unknown, Raised>();
for (const [code, entry] of Object.entries<ErrorEntry>(errorTable)) {
  if (entry.raisedBy) raisable.set(entry.raisedAs ?? code, { code: code as ErrorCode, entry });
}

/** The error of the table that anything is which was thrown in the gateway: its own, the pool's, a picture's, or a fault. */
export function toGatewayError(thrown: unknown): GatewayError {
  return thrown instanceof GatewayError ? thrown : read(thrown, () => true);
}

/**
 * The same for what a helper's handler has thrown: it may say that the input is at fault, and nothing of the gateway, but for
 * what the gateway itself has told it of a fetch, its `refusal`.
 */
export function readHandlerError(thrown: object, refusal?: { code: string; message: string }): GatewayError {
  if (refusal && Object.hasOwn(errorTable, refusal.code)) {
    const { code, message } = refusal;
    return new GatewayError(
      code as ErrorCode,
      code === 'internal' ? { cause: thrown } : { message, cause: thrown },
    );
  }
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
function tell({ tells }: ErrorEntry, { message, details, expose }: Record<string, unknown>) {
  if (tells === 'exposed') return expose === true ? exposed(message) : undefined;
  if (tells === 'exact') return expose === true ? exposed(message) : {};
  if (tells === 'message') return { message: String(message) };
  if (tells !== 'details') return {};
  return Array.isArray(details) && details.every(isFieldProblem)
    ? { details: details.map(asTold) }
    : undefined;
}

/** The author's words, or the table's where there are none. */
function exposed(message: unknown) {
  const text = typeof message === 'string' ? message.trim() : '';
  if (text === '') return {};
  return { message: cut(text) };
}

/** Nothing else that an author has put beside them is meant for the public. */
function asTold({ field, problem }: FieldProblem): FieldProblem {
  return { field: cut(field), problem: cut(problem) };
}

function cut(text: string): string {
  return text.length > mostCharacters ? `${text.slice(0, mostCharacters)} …` : text;
}

function isFieldProblem(value: unknown): value is FieldProblem {
  const { field, problem } = (value ?? {}) as Record<string, unknown>;
  return typeof field === 'string' && typeof problem === 'string';
}
