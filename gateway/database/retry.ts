import { setImmediate, setTimeout as sleep } from 'node:timers/promises';
import { isConflict } from './database-error.js';

/** How long to go on after conflicts. SQLite has one writer at a time; PostgreSQL waits by itself before it reports one. */
const patienceMs = 10_000;

/** The last of those who wait for another try, in this process. */
let turn: Promise<unknown> = Promise.resolve();

/**
 * Runs `work` again, from its start, while it meets another's lock, for 10 s at most; what it throws then, or
 * otherwise, is thrown on. The waits are short and not the same, so that two who met do not meet again.
 */
export async function retryConflicts<T>(work: () => Promise<T>): Promise<T> {
  const deadline = performance.now() + patienceMs;
  for (;;) {
    try {
      return await work();
    } catch (error) {
      if (!isConflict(error)) throw error;
      await nextTurn(deadline);
      if (performance.now() > deadline) throw error;
    }
  }
}

/**
 * One after the other: each try at SQLite blocks this process for a moment, and many in a row would leave it no time for anything
 * else. Past its deadline nobody is waited for.
 */
function nextTurn(deadline: number): Promise<unknown> {
  turn = turn.then(async () => {
    if (performance.now() > deadline) return;
    await sleep(2 + Math.random() * 20);
    // Behind what has arrived meanwhile: timers alone are run before it for as long as any is due.
    await setImmediate();
  });
  return turn;
}
