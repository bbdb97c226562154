interface Waiting<T, R> {
  one: T;
  resolve(result: R): void;
  reject(error: unknown): void;
}

/**
 * Runs together what arrives while the last batch is under way: each commit waits for a disk. `run` gets one item, adds as many of the
 * waiting ones as it wants, and returns a result for each. If a batch fails, its items run alone, unless `failsAll` says each would fail.
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
    // Items of the same moment go together.
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
