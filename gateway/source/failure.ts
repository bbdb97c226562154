import { GatewayError } from '../errors.js';

/** One message for every refusal, so that nobody can map a network by what the gateway says; `reason` is for the log. */
export function sourceRefused(reason: string): GatewayError {
  return new GatewayError('source_refused', { cause: new Error(reason) });
}

/** `message` speaks of a server that anyone can ask (or the operator named), so it may say what that server did. */
export function sourceFailed(message: string, cause?: unknown): GatewayError {
  return new GatewayError('source_failed', { message, cause });
}

export function sourceTooLarge(maxBytes: number): GatewayError {
  return new GatewayError('image_too_large', {
    message: `The file at the url is larger than the ${maxBytes} bytes that are accepted.`,
  });
}
