import { GatewayError } from '../../errors.js';

const bugs = [TypeError, RangeError, ReferenceError, SyntaxError];

/** What the queue keeps its items in cannot answer now; the cause is the driver's own error. */
export class QueueError extends GatewayError {
  constructor(cause: unknown) {
    super('storage_unavailable', {
      message: 'The queue of jobs of this gateway does not answer at the moment.',
      cause,
    });
    this.name = 'QueueError';
  }
}

/** A bug of ours stays what it is; everything else, be it a refused connection or a full Redis, may be gone the next time. */
export function classifyQueueFault(error: unknown): unknown {
  if (error instanceof GatewayError || bugs.some((bug) => error instanceof bug)) return error;
  return new QueueError(error);
}
