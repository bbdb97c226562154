import { GatewayError } from '../errors.js';

/** Of the time in so many parts: what a busy thread adds to one is not the server's. */
const parts = 10;

export interface Deadline {
  /** Aborted with the error that the download is to end with. */
  signal: AbortSignal;
  abort(reason: unknown): void;
  /** Stops the clock; to be called however the download ended. */
  release(): void;
}

/**
 * One clock over a whole download: name resolution, connection, TLS, headers, body and every redirect. A time-out per read
 * would be reset for ever by a server that sends a byte now and then. The caller's signal ends it with the caller's reason.
 */
export function startDeadline(timeoutMs: number, caller?: AbortSignal): Deadline {
  const controller = new AbortController();
  const abort = (reason: unknown) => controller.abort(reason);
  const onCaller = () => abort(caller?.reason);
  let left = parts;
  const timer = setTimeout(() => {
    left -= 1;
    if (left > 0) timer.refresh();
    else abort(new GatewayError('source_timeout', { cause: new Error(`not done after ${timeoutMs} ms`) }));
  }, timeoutMs / parts);
  if (caller?.aborted) onCaller();
  else caller?.addEventListener('abort', onCaller, { once: true });
  return {
    signal: controller.signal,
    abort,
    release() {
      clearTimeout(timer);
      caller?.removeEventListener('abort', onCaller);
    },
  };
}
