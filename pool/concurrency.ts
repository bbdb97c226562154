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

/**
 * Does something with each item, at most `most` at a time, in their order. After a failure no further one is begun; rejects with the first
 * error once nothing is under way any more.
 */
export async function forEachConcurrent<T>(
  items: Iterable<T>,
  most: number,
  work: (item: T) => Promise<unknown>,
): Promise<void> {
  const left = [...items].reverse();
  const errors: unknown[] = [];
  async function workOff(): Promise<void> {
    while (left.length > 0 && errors.length === 0) {
      try {
        await work(left.pop() as T);
      } catch (error) {
        errors.push(error);
      }
    }
  }
  await Promise.all(Array.from({ length: most }, workOff));
  if (errors.length > 0) throw errors[0];
}

/**
 * Makes something when it is first needed, and anew only where that has failed. The failure is for its callers, and must not end
 * the thread before that.
 */
export function once<T>(make: () => Promise<T>): () => Promise<T> {
  let made: Promise<T> | undefined;
  return () => {
    made ??= make().catch((error) => {
      made = undefined;
      throw error;
    });
    made.catch(() => undefined);
    return made;
  };
}
