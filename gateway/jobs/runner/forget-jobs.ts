import type { Logger } from 'pino';
import type { ResultStore } from '../results/result-store.js';
import { sweepResults } from '../results/sweep.js';
import type { JobStore } from '../store/job-store.js';
import type { Patience } from './patience.js';

export interface ForgettingParts {
  store: Pick<JobStore, 'expired' | 'remove' | 'known'>;
  results: Pick<ResultStore, 'removeAll' | 'prefixes'>;
  patience: Patience;
  logger: Pick<Logger, 'error' | 'info'>;
  /** How long a job is kept after its end. */
  ttlSeconds: number;
  /** Whether this process sees the files of jobs: it forgets none else. */
  seesFiles: () => Promise<boolean>;
  /** Milliseconds until it looks for files that no job has; some hours by default, and not as long for all processes. */
  sweepAfterMs?: number;
}

/** Forgets jobs until it is closed. */
export interface Forgetting {
  close(): Promise<void>;
}

const fewJobs = 20;
const expireMs = 30_000;
const sweepMs = 6 * 3_600_000;
/** Only files are removed that a job would not have any more that had ended within a day: the store may be another database's, too. */
const dayMs = 86_400_000;

/**
 * Forgets jobs whose time has run out, and now and then files that have no job. Every process does so, beside all else that it does for
 * jobs: ten thousand files take a while, and a new job does not wait for them.
 */
export function forgetJobs(parts: ForgettingParts): Forgetting {
  const { store, results, patience, logger, ttlSeconds, seesFiles } = parts;
  const { sweepAfterMs = Math.random() * sweepMs } = parts;
  const ttlMs = ttlSeconds * 1_000;
  let sweepAt = performance.now() + sweepAfterMs;
  let closed = false;
  let wake: (() => void) | undefined;

  async function expire(): Promise<void> {
    while (!closed && (await seesFiles())) {
      const jobs = await store.expired(Date.now() - ttlMs, fewJobs);
      if (jobs.length === 0) return;
      for (const { id } of jobs) {
        if (closed) return;
        // The rows last: what has none is not found again.
        await results.removeAll(id);
        await store.remove(id);
      }
    }
  }

  async function sweep(): Promise<void> {
    if (closed || performance.now() < sweepAt || !(await seesFiles())) return;
    const removed = await sweepResults(results, store, Date.now() - ttlMs - dayMs);
    sweepAt = performance.now() + sweepMs;
    if (removed > 0) logger.info({ removed }, 'files of jobs were removed that no job has');
  }

  async function run(): Promise<void> {
    while (!closed) {
      for (const work of [expire, sweep]) {
        await patience
          .run(work)
          .catch((error) => closed || logger.error({ err: error }, 'jobs could not be forgotten'));
      }
      if (closed) return;
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, expireMs).unref();
        wake = () => {
          clearTimeout(timer);
          resolve();
        };
      });
    }
  }

  const running = run();
  return {
    async close() {
      closed = true;
      wake?.();
      await running;
    },
  };
}
