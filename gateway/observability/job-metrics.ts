import { classOf, type Meters, secondsOfAJob } from './meters.js';

/** An item of a job that has ended here. */
export interface ObservedItem {
  service: string;
  /** The error's code, or `ok`. */
  code: string;
  /** From when its job was made to when it was begun. */
  waitSeconds: number;
  /** Milliseconds spent on its tasks. */
  taskMs: number;
  /** Its tenant's. */
  weight: number;
}

/** What became of one attempt to tell a webhook: taken, refused and to be tried again, or given up. */
export type WebhookOutcome = 'sent' | 'failed' | 'given_up';

interface JobMeters {
  observeItem(item: ObservedItem): void;
  observeWebhook(outcome: WebhookOutcome): void;
}

/** Counts what is done of jobs here, and tells what waits of them anywhere; nothing of that where there are none. */
export function meterJobs(
  { counter, histogram, gauge }: Meters,
  {
    readJobs,
    addTaskMs,
  }: {
    readJobs: (() => Promise<JobNumbers>) | undefined;
    addTaskMs: (service: string, ms: number) => void;
  },
): JobMeters {
  const items = counter({
    name: 'job_items_total',
    help: 'Items of jobs that ended in this process, by helper and error code (ok where it succeeded).',
    labels: ['service', 'code'],
  });
  const waits = histogram(
    {
      name: 'job_item_wait_seconds',
      help: 'Time from the request for a job to the beginning of an item, by the class of the tenant.',
      labels: ['class'],
    },
    secondsOfAJob,
  );
  const webhooks = counter({
    name: 'webhooks_total',
    help: 'Attempts to tell a webhook of the end of a job, by outcome.',
    labels: ['outcome'],
  });
  const numbers = readJobs ? createJobNumbers({ read: readJobs }) : async () => undefined;
  gauge(
    'job_items_waiting',
    'Items of jobs that wait, in all processes together.',
    async () => (await numbers())?.waiting,
    'max',
  );
  gauge(
    'job_items_running',
    'Items of jobs that are worked on, in all processes together.',
    async () => (await numbers())?.running,
    'max',
  );
  gauge(
    'jobs_oldest_wait_seconds',
    'How long the item has waited that waits the longest, in all processes together.',
    async () => {
      const known = await numbers();
      if (!known || known.oldestWaitingAt === null) return known && 0;
      return Math.max(0, (Date.now() - known.oldestWaitingAt) / 1000);
    },
    'max',
  );

  return {
    observeItem({ service, code, waitSeconds, taskMs, weight }) {
      items.inc({ service, code });
      // Clocks of two hosts may differ by more than it waited.
      waits.observe({ class: classOf(weight) }, Math.max(0, waitSeconds));
      addTaskMs(service, taskMs);
    },
    observeWebhook(outcome) {
      webhooks.inc({ outcome });
    },
  };
}

/** What waits and runs of all jobs, as the database has it: the same in every process. */
export interface JobNumbers {
  waiting: number;
  running: number;
  /** Milliseconds since 1970; null where nothing waits. */
  oldestWaitingAt: number | null;
}

interface JobNumbersOptions {
  read: () => Promise<JobNumbers>;
  /** Milliseconds since 1970; for tests. */
  now?: () => number;
  /** Milliseconds that a reader waits at most; for tests. */
  patienceMs?: number;
}

/** Read so often at most, however many ask for the metrics. */
const freshMs = 5000;
/** Older numbers are not told: they would say that all is well while nobody knows. */
const staleMs = 60_000;

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
      await withTimeout(reading, patienceMs);
    }
    return last && now() - last.at < staleMs ? last.numbers : undefined;
  };
}

async function withTimeout(work: Promise<void>, ms: number): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const patience = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, ms);
  });
  await Promise.race([work, patience]);
  clearTimeout(timer);
}
