export interface CodedErrorOptions {
  /** `[{field, problem}]`, for `invalid_input`. */
  details?: { field: string; problem: string }[];
  cause?: unknown;
}

/**
 * An error that is known by its `code`, not its class: a plugin has its own copy of every class, and none goes from thread to
 * thread. Which codes there are, and whether `message` is public, says the gateway's table.
 */
export function codedError(code: string, message: string, { details, cause }: CodedErrorOptions = {}): Error {
  return Object.assign(new Error(message, { cause }), { code }, details && { details });
}
