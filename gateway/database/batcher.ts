interface Waiting<T, R> {
  one: T;
  resolve(result: R): void;
  reject(error: unknown): void;
}

/**
 * Runs together what is asked for while the last batch was under way: each commit waits for a disk. `run` gets one item at first, adds as
 * many as it wants of those that wait, and gives a result for each. Where a batch fails, each item is run alone, so that one spoils nothing
 * for the others, but where `failsAll` says that each would fail likewise.
 */
export function createBatcher<T, R>(
  run: (items: readonly T[], addNext: () => T | undefined) => Promise<readonly R[]>,
  failsAll: (error: unknown) => boolean,
): (one: T) => Promise<R> {
  const waiting: Waiting<T, R>[] = [];
  let running = false;

  async function runBatch(first: Waiting<T, R>, addsMore: boolean): Promise<void> {
    const batch = [first];
    const items = [first.one];
    function addNext(): T | undefined {
      const next = addsMore ? waiting.shift() : undefined;
      if (!next) return undefined;
      batch.push(next);
      items.push(next.one);
      return next.one;
    }
    try {
      const results = await run(items, addNext);
      for (const [at, { resolve }] of batch.entries()) resolve(results[at] as R);
    } catch (error) {
      if (batch.length === 1 || failsAll(error)) for (const { reject } of batch) reject(error);
      else for (const each of batch) await runBatch(each, false);
    }
  }

  async function runAll(): Promise<void> {
    running = true;
    // What is asked for in the same moment goes together.
    await Promise.resolve();
    for (let first = waiting.shift(); first; first = waiting.shift()) await runBatch(first, true);
    running = false;
  }

  return (one) =>
    new Promise((resolve, reject) => {
      waiting.push({ one, resolve, reject });
      if (!running) void runAll();
    });
}
