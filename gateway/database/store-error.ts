import { type ErrorCode, GatewayError } from '../errors.js';

/** A store of the gateway, as its errors name it. */
export interface StoreName {
  code: Extract<ErrorCode, 'keys_unavailable' | 'storage_unavailable'>;
  name: string;
}

export const database: StoreName = { code: 'keys_unavailable', name: 'The database of this gateway' };

/** A store does not answer now; the cause is the driver's own error. What was asked may be asked again. */
export class StoreError extends GatewayError {
  /** Whether it has no room, though it may for less. */
  readonly isFull: boolean;

  constructor({ code, name }: StoreName, cause: unknown) {
    const isFull = ['ENOSPC', 'EDQUOT'].includes(codeOf(cause));
    super(code, { message: `${name} ${isFull ? 'has no room' : 'does not answer'} at the moment.`, cause });
    this.name = 'StoreError';
    this.isFull = isFull;
  }
}

const bugs = [TypeError, RangeError, ReferenceError, SyntaxError];

/** A bug of ours (a broken constraint, a wrong type) stays what it is; all else means a store away or full. */
export function toStoreError(store: StoreName, error: unknown): unknown {
  if (error instanceof GatewayError || bugs.some((bug) => error instanceof bug)) return error;
  const code = codeOf(error);
  // SQLSTATE classes 22 (data) and 23 (integrity).
  if (/^2[23][0-9A-Z]{3}$/.test(code) || code.startsWith('SQLITE_CONSTRAINT')) return error;
  return new StoreError(store, error);
}

/** Does something with a store; what it throws is as `toStoreError` has it. */
export async function withStore<T>(store: StoreName, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw toStoreError(store, error);
  }
}

/** Whether an error says that a store does not answer, and not that it was asked wrongly. */
export function isStoreAway(error: unknown): boolean {
  return (
    error instanceof GatewayError &&
    (error.code === 'keys_unavailable' || error.code === 'storage_unavailable')
  );
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

/** The driver's own words for an operator, in one line: hosts, files and ports, never a password. Not for callers. */
export function reasonOf(error: unknown): string {
  if (error instanceof AggregateError && error.errors.length > 0) return reasonOf(error.errors[0]);
  if (!(error instanceof Error)) return String(error);
  if (error.cause instanceof Error) return reasonOf(error.cause);
  return error.message || error.name;
}

/** The system's or the driver's code of an error; empty where it has none. */
export function codeOf(error: unknown): string {
  const code = error instanceof Error && 'code' in error ? error.code : undefined;
  return typeof code === 'string' ? code : '';
}
