import { setTimeout as sleep } from 'node:timers/promises';
import { isConflict, storeError } from './database-error.js';

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

/** The same, for whoever answers a caller: what is not a bug of ours is thrown on as `keys_unavailable`. */
export async function ask<T>(work: () => Promise<T>, patienceMs: number): Promise<T> {
  try {
    return await patiently(work, patienceMs);
  } catch (error) {
    throw storeError(error);
  }
}
