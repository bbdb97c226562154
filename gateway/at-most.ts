/** Runs what it is given, at most `most` at a time, the others in the order in which they came. */
export function atMost(most: number): <T>(work: () => Promise<T>) => Promise<T> {
  const waiting: (() => void)[] = [];
  let running = 0;
  return async function runInTurn(work) {
    if (running < most) running += 1;
    else await new Promise<void>((resolve) => waiting.push(resolve));
    try {
      return await work();
    } finally {
      // Whoever is next has the place of this one.
      const next = waiting.shift();
      if (next) next();
      else running -= 1;
    }
  };
}
