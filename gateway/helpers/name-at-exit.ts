import { isMainThread } from 'node:worker_threads';
import { type BlockedOptions, watchBlocked } from '../../pool/watchdog.js';
import { visible } from '../../schemas/quote.js';

/**
 * Does what a plugin's code may end the process in, or leave without anything that keeps it running: either would end the start
 * without a word. Then `doing` is said on stderr, and the exit code is 1.
 * A worker's end is told by its parent. Work that is `blocked` for too long, by a loop that never ends, is named too.
 */
export async function nameAtExit<T>(
  doing: string,
  work: () => Promise<T>,
  blocked?: BlockedOptions,
): Promise<T> {
  if (!isMainThread) return work();
  const unwatch = blocked && watchBlocked(visible(doing), blocked);
  const name = () => {
    console.error(visible(`helper-gateway: the process ended while ${doing}`));
    process.exitCode = 1;
  };
  process.once('exit', name);
  try {
    return await work();
  } finally {
    unwatch?.();
    process.off('exit', name);
  }
}
