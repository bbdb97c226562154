import { setTimeout as sleep } from 'node:timers/promises';
import { isConflict } from './database-error.js';

/**
 * Runs `work` again, from its start, while it meets another's lock, for `patienceMs` at most; what it throws then, or
 * otherwise, is thrown on. The waits are short and not the same, so that two who met do not meet again.
 */
export async function patiently<T>(work: () => Promise<T>, patienceMs: number): Promise<T> {
  const deadline = performance.now() + patienceMs;
  for (;;) {
    try {
      return await work();
    } catch (error) {
      if (!isConflict(error) || performance.now() > deadline) throw error;
      await sleep(2 + Math.random() * 20);
    }
  }
}
