import type { Logger } from 'pino';
import type { SharedStore } from '../results/shared-store.js';

/** Knows whether this process sees the files of the jobs that others make. */
export interface StoreWatch {
  /** Looks again, where the last look was a while ago, or anew in any case. Whether it does. */
  look(options?: { anew: boolean }): Promise<boolean>;
  /** Why it does not, by the last look. */
  message(): string | undefined;
}

const lookMs = 30_000;

/** Makes it; that it does not is told once, and once that it does. */
export function createStoreWatch(
  judge: () => Promise<SharedStore>,
  logger: Pick<Logger, 'info' | 'warn'>,
): StoreWatch {
  let verdict: SharedStore | undefined;
  let again = 0;

  function tell(next: SharedStore): void {
    if (!next.shared && verdict?.shared !== false) logger.warn(next.message);
    if (next.shared && verdict?.shared === false) logger.info('the files of jobs are seen here again');
    verdict = next;
  }

  return {
    async look({ anew } = { anew: false }) {
      const now = performance.now();
      if (anew || now >= again) {
        tell(await judge());
        // What keeps jobs from being worked on is soon looked at again.
        again = now + (verdict?.shared ? lookMs : lookMs / 10);
      }
      return verdict?.shared === true;
    },
    message: () => (verdict && !verdict.shared ? verdict.message : undefined),
  };
}
