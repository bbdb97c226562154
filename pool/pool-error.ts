export interface PoolErrorOptions {
  retryAfter?: number;
  ms?: number;
  /** Whether `message` is meant for the caller. */
  expose?: boolean;
  cause?: unknown;
}

/** Why work in the pool was not done. `message` is internal, unless it says by `expose` that it is not. */
export class PoolError extends Error {
  readonly code: 'busy' | 'tenant_busy' | 'shutting_down' | 'helper_timeout' | 'internal';
  /** Whole seconds after which a place is likely, for the codes that ask to come back. */
  readonly retryAfter: number | undefined;
  readonly expose: boolean;
  /** Milliseconds that a thread spent before the task failed. */
  readonly ms: number;

  constructor(code: PoolError['code'], message: string, options: PoolErrorOptions = {}) {
    super(message, { cause: options.cause });
    this.name = 'PoolError';
    this.code = code;
    this.retryAfter = options.retryAfter;
    this.expose = options.expose ?? false;
    this.ms = options.ms ?? 0;
  }
}

/** The error of work that came, or waits, when the end has begun. */
export function noMoreWork(): PoolError {
  return new PoolError('shutting_down', 'the pool takes no more work');
}
