import { setTimeout as sleep } from 'node:timers/promises';
import { isConflict } from './database-error.js';

/** How long to go on after conflicts. SQLite has one writer at a time; PostgreSQL waits by itself before it reports one. */
const PATIENCE_MS = 10_000;

/**
 * Runs `work` again, from its start, while it meets another's lock, for 10 s at most; what it throws then, or
 * otherwise, is thrown on. The waits are short and not the same, so that two who met do not meet again.
 */
export async function patiently<T>(work: () => Promise<T>): Promise<T> {
  const deadline = performance.now() + PATIENCE_MS;
  for (;;) {
    try {
      return await work();
    } catch (error) {
      if (!isConflict(error) || performance.now() > deadline) throw error;
      await sleep(2 + Math.random() * 20);
    }
  }
}
