import { GatewayError } from '../errors.js';
import { type Deadline, startDeadline } from './deadline.js';

/** What is under way, each with a deadline of its own. */
export interface Deadlines {
  /**
   * Does work that ends when its signal is aborted: by the deadline with `source_timeout`, by the caller's signal with its reason,
   * or by `close` with `shutting_down`; rejects with that reason, whatever the abort broke.
   */
  within<T>(caller: AbortSignal | undefined, work: (signal: AbortSignal) => Promise<T>): Promise<T>;
  /** Ends all, and whatever is begun from now on; resolves when all have ended. */
  close(): Promise<void>;
}

const ignore = () => {};

export function createDeadlines(timeoutMs: number): Deadlines {
  const deadlines = new Set<Deadline>();
  const running = new Set<Promise<unknown>>();
  let closed = false;

  async function run<T>(
    caller: AbortSignal | undefined,
    work: (signal: AbortSignal) => Promise<T>,
  ): Promise<T> {
    const deadline = startDeadline(timeoutMs, caller);
    deadlines.add(deadline);
    if (closed) deadline.abort(new GatewayError('shutting_down'));
    try {
      return await work(deadline.signal);
    } catch (error) {
      // An abort surfaces as whatever it broke; its reason is the truth.
      throw deadline.signal.aborted ? deadline.signal.reason : error;
    } finally {
      deadlines.delete(deadline);
      deadline.release();
    }
  }

  return {
    within(caller, work) {
      const result = run(caller, work);
      const settled = result.then(ignore, ignore).finally(() => running.delete(settled));
      running.add(settled);
      return result;
    },
    async close() {
      closed = true;
      for (const deadline of deadlines) deadline.abort(new GatewayError('shutting_down'));
      await Promise.all(running);
    },
  };
}
