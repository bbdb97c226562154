import { performance } from 'node:perf_hooks';
import { setImmediate } from 'node:timers/promises';

/** Milliseconds that one piece of work may hold the main thread, which is everybody's. */
const mostMs = 4;

/** To be called often in long work: lets the others go on where it has held the thread for some milliseconds. */
export type Breathe = () => Promise<void> | undefined;

export function createBreathe(): Breathe {
  let since = performance.now();
  return function breathe() {
    if (performance.now() - since < mostMs) return undefined;
    return setImmediate().then(() => {
      since = performance.now();
    });
  };
}
