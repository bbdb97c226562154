/** What waits and runs of all jobs, as the database has it: the same in every process. */
export interface JobNumbers {
  waiting: number;
  running: number;
  /** Milliseconds since 1970; null where nothing waits. */
  oldestWaitingAt: number | null;
}

export interface JobNumbersOptions {
  read: () => Promise<JobNumbers>;
  /** Milliseconds since 1970; for tests. */
  now?: () => number;
  /** Milliseconds that a reader waits at most; for tests. */
  patienceMs?: number;
}

/** Read so often at most, however many ask for the metrics. */
const freshMs = 5000;
/** Older numbers are not told: they would say that all is well while nobody knows. */
const keptMs = 60_000;

/**
 * Keeps numbers that take a question to the database. Whoever asks gets those of a few seconds ago, or waits a moment for new ones: while
 * the database is away the last known are told, for a minute, and no reader of the metrics is held up by it.
 */
export function createJobNumbers({
  read,
  now = Date.now,
  patienceMs = 500,
}: JobNumbersOptions): () => Promise<JobNumbers | undefined> {
  let last: { at: number; numbers: JobNumbers } | undefined;
  let reading: Promise<void> | undefined;

  function begin(): Promise<void> {
    const started = now();
    return read()
      .then(
        (numbers) => {
          last = { at: started, numbers };
        },
        // Whoever works with the jobs tells of it.
        () => undefined,
      )
      .finally(() => {
        reading = undefined;
      });
  }

  return async function numbers() {
    if (!last || now() - last.at >= freshMs) {
      reading ??= begin();
      await atMost(reading, patienceMs);
    }
    return last && now() - last.at < keptMs ? last.numbers : undefined;
  };
}

async function atMost(work: Promise<void>, ms: number): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const patience = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, ms);
  });
  await Promise.race([work, patience]);
  clearTimeout(timer);
}
