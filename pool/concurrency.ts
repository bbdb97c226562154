/** Runs work, at most `most` pieces at a time; the rest wait in order. */
export function limitConcurrency(most: number): <T>(work: () => Promise<T>) => Promise<T> {
  const waiting: (() => void)[] = [];
  let running = 0;
  return async function run(work) {
    if (running < most) running += 1;
    else await new Promise<void>((resolve) => waiting.push(resolve));
    try {
      return await work();
    } finally {
      // The next one inherits this slot.
      const next = waiting.shift();
      if (next) next();
      else running -= 1;
    }
  };
}

/** Runs work of one key in order, one piece at a time; different keys run beside each other. */
export function serializeByKey(): <T>(key: string, work: () => Promise<T>) => Promise<T> {
  const last = new Map<string, Promise<unknown>>();
  return function run(key, work) {
    const running = (last.get(key) ?? Promise.resolve()).then(work, work);
    last.set(key, running);
    const forget = () => {
      if (last.get(key) === running) last.delete(key);
    };
    running.then(forget, forget);
    return running;
  };
}
