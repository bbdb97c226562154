import { codedError } from './coded-error.js';

/** A handler's result past the bytes that are sent; by its `code` it becomes the caller's fault. `message` is public. */
export function resultTooLarge(what: 'JSON' | 'text', most: number): Error {
  const hint = what === 'JSON' ? ' (a control character takes six)' : '';
  const message = `The answer would be more than the ${most} bytes of ${what} that are sent${hint}. Send a smaller input.`;
  return codedError('result_too_large', message);
}
