/** Runs what it is given, at most `most` at a time, the others in the order in which they came. */
export function limitConcurrency(most: number): <T>(work: () => Promise<T>) => Promise<T> {
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

/** Runs what it is given for each `of` one after another, in the order in which it came, and those of different ones beside each other. */
export function serializeByKey(): <T>(of: string, work: () => Promise<T>) => Promise<T> {
  const last = new Map<string, Promise<unknown>>();
  return function runInTurn(of, work) {
    const running = (last.get(of) ?? Promise.resolve()).then(work, work);
    last.set(of, running);
    const forget = () => {
      if (last.get(of) === running) last.delete(of);
    };
    running.then(forget, forget);
    return running;
  };
}
