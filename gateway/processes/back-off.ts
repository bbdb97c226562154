/** A process that has lived so long did not end of its start: the next one is started at once again. */
const soundMs = 60_000;
const firstMs = 1_000;
const mostMs = 30_000;

/**
 * How long to wait before a process that ended is started again: not at all the first time, then 1, 2, 4 … 30 seconds. What ends
 * with every start must not take the processor from what works.
 */
export function createBackOff(): (livedMs: number) => number {
  let next = 0;
  return function waitAfter(livedMs) {
    if (livedMs >= soundMs) next = 0;
    const wait = next;
    next = Math.min(mostMs, next === 0 ? firstMs : 2 * next);
    return wait;
  };
}
