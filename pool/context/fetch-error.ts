import { codedError } from '../coded-error.js';
import type { Refusal } from './messages.js';

/** What the gateway said in the errors that it made: those it knows again, whatever a plugin has written into them since. */
const made = new WeakMap<object, Refusal>();

/** The error with which a handler's `fetch` rejects: it has the `code` of the gateway's table, and may be left uncaught. */
export function fetchError(refusal: Refusal): Error {
  const error = codedError(refusal.code, refusal.message);
  made.set(error, refusal);
  return error;
}

/** What the gateway said in this error; undefined for one that a plugin made itself, however like it looks. */
export function refusalIn(error: unknown): Refusal | undefined {
  return typeof error === 'object' && error !== null ? made.get(error) : undefined;
}

/** A fetch that comes too late: after the answer there is nobody for whom it could be. */
export function fetchAfterEnd(): Error {
  return fetchError({
    code: 'internal',
    message: 'The call has ended; nothing is fetched for it any more.',
  });
}
