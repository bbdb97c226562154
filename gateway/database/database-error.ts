import { GatewayError } from '../errors.js';

const bugs = [TypeError, RangeError, ReferenceError, SyntaxError];

/** The database cannot answer now; the cause is the driver's own error. The one error of which this is said. */
export class DatabaseError extends GatewayError {
  constructor(cause: unknown) {
    super('keys_unavailable', {
      message: 'The database of this gateway does not answer at the moment.',
      cause,
    });
    this.name = 'DatabaseError';
  }
}

/**
 * Classes what was thrown while the database was used. A bug of ours (a broken constraint, a value of the wrong type) stays
 * what it is; everything else means that the database cannot answer now, be it a refused connection, a full disk or a
 * server that is starting up: a `DatabaseError`.
 */
export function classifyFault(error: unknown): unknown {
  if (error instanceof GatewayError || bugs.some((bug) => error instanceof bug)) return error;
  const code = codeOf(error);
  // SQLSTATE classes 22 (data) and 23 (integrity).
  if (/^2[23][0-9A-Z]{3}$/.test(code) || code.startsWith('SQLITE_CONSTRAINT')) return error;
  return new DatabaseError(error);
}

/** Whether the same transaction may succeed when it is run again from its start. */
export function isConflict(error: unknown): boolean {
  const code = codeOf(error);
  if (code === '40001' || code === '40P01' || code.startsWith('SQLITE_BUSY')) return true;
  // libsql reports a reader that met a lock as SQLITE_ERROR.
  return code === 'SQLITE_ERROR' && error instanceof Error && error.message.includes('database is locked');
}

/** Whether a statement failed because such a row is there already, on either database. */
export function isDuplicate(error: unknown): boolean {
  const code = codeOf(error);
  return code === '23505' || code.startsWith('SQLITE_CONSTRAINT');
}

/**
 * The driver's own words for a person who runs the gateway, in one line: hosts, files and ports, never a password. Not for
 * callers.
 */
export function reasonOf(error: unknown): string {
  if (error instanceof AggregateError && error.errors.length > 0) return reasonOf(error.errors[0]);
  if (!(error instanceof Error)) return String(error);
  if (error.cause instanceof Error) return reasonOf(error.cause);
  return error.message || error.name;
}

function codeOf(error: unknown): string {
  const code = error instanceof Error && 'code' in error ? error.code : undefined;
  return typeof code === 'string' ? code : '';
}
