import { GatewayError } from '../errors.js';

/** One answer for jobs that never were, are another tenant's, or have been forgotten: none tells which. */
export function noSuchJob(): GatewayError {
  return new GatewayError('not_found', {
    message: 'You have no such job. Jobs and their results are forgotten some time after their end.',
  });
}

export function noSuchItem(): GatewayError {
  return new GatewayError('not_found', { message: 'This job has no such item.' });
}
