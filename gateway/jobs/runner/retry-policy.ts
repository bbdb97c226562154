import type { Logger } from 'pino';
import { isStoreAway } from '../../database/store-error.js';

export interface RetryPolicyOptions {
  logger: Pick<Logger, 'info' | 'warn'>;
  /** The pause after a first failure, which doubles up to the longest; in milliseconds. */
  firstMs?: number;
  longestMs?: number;
}

/** Does things that need a database, a queue or a store, which may be away. */
export interface RetryPolicy {
  /**
   * Tries until it works; rejects where it failed by itself a few times, or `stop` was called. `giveUp` gets each error, and may end the
   * tries with another.
   */
  run<T>(work: () => Promise<T>, giveUp?: (error: unknown) => Error | undefined): Promise<T>;
  /** Ends all waiting; what is tried from now on is tried once. */
  stop(): void;
}

/** Tries at what fails though nothing is away. */
const mostTries = 3;

/** Makes it; that something is away is told once, and once that it is back. */
export function createRetryPolicy({
  logger,
  firstMs = 250,
  longestMs = 5_000,
}: RetryPolicyOptions): RetryPolicy {
  let away = false;
  let stopped = false;
  const wakeups = new Set<() => void>();

  function pause(ms: number): Promise<void> {
    return new Promise((resolve) => {
      const timer = setTimeout(end, ms);
      function end(): void {
        clearTimeout(timer);
        wakeups.delete(end);
        resolve();
      }
      wakeups.add(end);
    });
  }

  function tellAway(error: unknown): void {
    if (away) return;
    away = true;
    logger.warn({ err: error }, 'jobs cannot go on: what they need does not answer; it is tried again');
  }

  return {
    async run(work, giveUp) {
      for (let tries = 1; ; tries += 1) {
        try {
          const result = await work();
          if (tries > 1 && away) {
            away = false;
            logger.info('jobs go on');
          }
          return result;
        } catch (error) {
          if (isStoreAway(error)) tellAway(error);
          else if (tries >= mostTries) throw error;
          if (stopped) throw error;
          const last = giveUp?.(error);
          if (last) throw last;
          // Not all at the same moment, for those who have met the same outage.
          const ms = Math.min(longestMs, firstMs * 2 ** Math.min(tries - 1, 20));
          await pause(ms * (0.5 + Math.random() / 2));
          if (stopped) throw error;
        }
      }
    },
    stop() {
      stopped = true;
      for (const wake of [...wakeups]) wake();
    },
  };
}
