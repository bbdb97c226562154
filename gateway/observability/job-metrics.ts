import { setTimeout as sleep } from 'node:timers/promises';
import { classOf, type Meters, secondsOfAJob } from './meters.js';

/** An item of a job that has ended in this process. */
export interface ObservedItem {
  service: string;
  /** The error's code, or `ok`. */
  code: string;
  /** From the creation of its job to its start. */
  waitSeconds: number;
  /** Milliseconds spent on its tasks. */
  taskMs: number;
  /** Its tenant's. */
  weight: number;
}

/** The outcome of one attempt to notify a webhook: accepted, refused and to be retried, or given up. */
export type WebhookOutcome = 'sent' | 'failed' | 'given_up';

export interface JobMeters {
  observeItem(item: ObservedItem): void;
  observeWebhook(outcome: WebhookOutcome): void;
}

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
    help: 'Attempts to notify a webhook of the end of a job, by outcome.',
    labels: ['outcome'],
  });
  const numbers = readJobs ? createJobNumbers({ read: readJobs }) : async () => undefined;
  const jobGauge = (name: string, help: string, value: (numbers: JobNumbers) => number) =>
    gauge(
      name,
      `${help}, in all processes together.`,
      async () => {
        const known = await numbers();
        return known && value(known);
      },
      'max',
    );
  jobGauge('job_items_waiting', 'Items of jobs that wait', ({ waiting }) => waiting);
  jobGauge('job_items_running', 'Items of jobs that are worked on', ({ running }) => running);
  jobGauge(
    'jobs_oldest_wait_seconds',
    'How long the item has waited that waits the longest',
    ({ oldestWaitingAt: at }) => (at === null ? 0 : Math.max(0, (Date.now() - at) / 1000)),
  );

  return {
    observeItem({ service, code, waitSeconds, taskMs, weight }) {
      items.inc({ service, code });
      // Clocks of two hosts may differ by more than it waited.
      waits.observe({ class: classOf(weight) }, Math.max(0, waitSeconds));
      addTaskMs(service, taskMs);
    },
    observeWebhook: (outcome) => webhooks.inc({ outcome }),
  };
}

/** Waiting and running items of all jobs in the database: the same in every process. */
export interface JobNumbers {
  waiting: number;
  running: number;
  /** Milliseconds since 1970; null where nothing waits. */
  oldestWaitingAt: number | null;
}

/** Numbers up to this age need no query, however many ask for the metrics. */
const freshMs = 5000;
/** Older numbers are left out: they would say that all is well when nothing is known. */
const staleMs = 60_000;

/**
 * Caches numbers that take a query. A reader gets those of a few seconds ago, or waits up to `patienceMs` for new ones: while the database is
 * away, the last known are given for a minute, and no reader is held up. `now` is in milliseconds since 1970.
 */
export function createJobNumbers({
  read,
  now = Date.now,
  patienceMs = 500,
}: {
  read: () => Promise<JobNumbers>;
  now?: () => number;
  patienceMs?: number;
}): () => Promise<JobNumbers | undefined> {
  let last: { at: number; numbers: JobNumbers } | undefined;
  let reading: Promise<void> | undefined;

  async function refresh(): Promise<void> {
    const at = now();
    try {
      last = { at, numbers: await read() };
    } catch {
      // The workers of jobs log that the database is away.
    } finally {
      reading = undefined;
    }
  }

  return async function numbers() {
    if (!last || now() - last.at >= freshMs) {
      reading ??= refresh();
      await Promise.race([reading, sleep(patienceMs, undefined, { ref: false })]);
    }
    return last && now() - last.at < staleMs ? last.numbers : undefined;
  };
}
