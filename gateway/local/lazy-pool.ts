import type { Pool } from '../../pool/pool.js';

/** A pool whose threads are started by the first task: a call that needs none is spared the wait and the processor's time. */
export function lazyPool(pool: Pick<Pool, 'start' | 'turn'>): Pick<Pool, 'turn'> {
  let failed: Promise<never> | undefined;

  /** Rejects where the threads cannot start, else never settles. */
  function start(): Promise<never> {
    failed ??= pool.start().then(() => new Promise<never>(() => {}));
    return failed;
  }

  return {
    turn(...asked) {
      const turn = pool.turn(...asked);
      return { ...turn, run: (task, host) => Promise.race([turn.run(task, host), start()]) };
    },
  };
}
