import { randomUUID } from 'node:crypto';
import { performance } from 'node:perf_hooks';
import type { Context } from 'koa';

/** What an answer was to whoever waited for it. */
export interface Outcome {
  /** 499, as nginx has it, where nobody waited any more. */
  status: number;
  /** Milliseconds from the request line to the answer's end. */
  ms: number;
  /** Whether the client stayed to the end of it. */
  answered: boolean;
}

/** Gives a request its id, which the answer carries as `x-request-id`, and tells once what became of it. */
export function followRequest(
  ctx: Pick<Context, 'res' | 'set' | 'status'>,
  onEnd: (outcome: Outcome) => void,
): string {
  const start = performance.now();
  const requestId = randomUUID();
  ctx.set('x-request-id', requestId);
  ctx.res.once('close', () => {
    const answered = ctx.res.writableFinished;
    onEnd({ status: answered ? ctx.status : 499, ms: performance.now() - start, answered });
  });
  return requestId;
}

/** A time as the log tells it: to a tenth of a millisecond. */
export function loggedMs(ms: number): number {
  return Math.round(ms * 10) / 10;
}
