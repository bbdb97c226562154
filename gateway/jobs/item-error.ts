import { type ErrorCode, errorTable, GatewayError } from '../errors.js';
import type { ItemError } from './model.js';

/** What an item failed with, as it would have been answered. It is no fault of whoever asks for it. */
export function toItemError(error: ItemError | undefined): GatewayError {
  // A later gateway may know codes that this one does not.
  const code = error && Object.hasOwn(errorTable, error.code) ? (error.code as ErrorCode) : 'internal';
  const { message, details } = error ?? {};
  return new GatewayError(code, {
    ...(message === undefined ? {} : { message }),
    ...(details === undefined ? {} : { details: [...details] }),
    past: true,
  });
}
