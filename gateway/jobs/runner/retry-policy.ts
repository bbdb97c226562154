import { setMaxListeners } from 'node:events';
import { setTimeout as pause } from 'node:timers/promises';
import type { Logger } from 'pino';
import { isStoreAway } from '../../database/store-error.js';

interface RetryPolicyOptions {
  logger: Pick<Logger, 'info' | 'warn'>;
  /** The pause after a first failure, which doubles up to the longest; in milliseconds. */
  firstMs?: number;
  longestMs?: number;
}

/** Runs what needs a database, a queue or a store, which may be away. */
export type RetryPolicy = ReturnType<typeof createRetryPolicy>;

/** Tries at what fails though no store is away. */
const mostTries = 3;

/** Logs once when a store goes away, and once when it is back. */
export function createRetryPolicy({ logger, firstMs = 250, longestMs = 5_000 }: RetryPolicyOptions) {
  const stopping = new AbortController();
  const { signal } = stopping;
  // As many may wait as there are items in hand.
  setMaxListeners(0, signal);
  let away = false;

  return {
    /** Tries until it works, `stop` was called, it failed by itself a few times, or `giveUp` gave another error. */
    async run<T>(work: () => Promise<T>, giveUp?: (error: unknown) => Error | undefined): Promise<T> {
      for (let tries = 1; ; tries += 1) {
        try {
          const result = await work();
          if (tries > 1 && away) {
            away = false;
            logger.info('jobs go on');
          }
          return result;
        } catch (error) {
          const isAway = isStoreAway(error);
          if (isAway && !away) {
            logger.warn(
              { err: error },
              'jobs cannot go on: what they need does not answer; it is tried again',
            );
          }
          away ||= isAway;
          if (signal.aborted || (!isAway && tries >= mostTries)) throw error;
          const last = giveUp?.(error);
          if (last) throw last;
          // Not all at the same moment, for those who have met the same outage.
          const ms = Math.min(longestMs, firstMs * 2 ** Math.min(tries - 1, 20));
          await pause(ms * (0.5 + Math.random() / 2), undefined, { signal }).catch(() => undefined);
          if (signal.aborted) throw error;
        }
      }
    },

    /** Ends all waiting; what is tried from now on is tried once. */
    stop: () => stopping.abort(),
  };
}
