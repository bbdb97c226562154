import { isMainThread } from 'node:worker_threads';
import { visible } from '../../schemas/quote.js';

/**
 * Does what a plugin's code may end the process in, or leave without anything that keeps it running: either would end the start
 * without a word. Then `doing` is said on stderr, and the exit code is 1.
 * A worker's end is told by its parent.
 */
export async function nameAtExit<T>(doing: string, work: () => Promise<T>): Promise<T> {
  if (!isMainThread) return work();
  const name = () => {
    console.error(visible(`helper-gateway: the process ended while ${doing}`));
    process.exitCode = 1;
  };
  process.once('exit', name);
  try {
    return await work();
  } finally {
    process.off('exit', name);
  }
}
