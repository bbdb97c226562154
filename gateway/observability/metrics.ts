import { setTimeout as sleep } from 'node:timers/promises';
import { AggregatorRegistry, Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';
import type { Pool } from '../../pool/pool.js';
import type { Cache } from '../cache.js';
import type { InboundBudget } from '../http/inbound-budget.js';
import type { OutboundBudget } from '../http/outbound-budget.js';

/** The library's data of all metrics, as far as others look at it: one process sends it to another. */
export type MetricFacts = readonly {
  name: string;
  type?: unknown;
  values: readonly { value: number; labels: object; metricName?: string }[];
}[];

export type Metrics = ReturnType<typeof createMetrics>;

export interface MetricsOptions {
  pool: Pick<Pool, 'stats' | 'watch' | 'slowed'>;
  inboundBudget: Pick<InboundBudget, 'stats' | 'watch'>;
  /** Absent where no calls are answered. */
  outboundBudget?: Pick<OutboundBudget, 'stats'> | undefined;
  cache: Pick<Cache, 'stats'>;
  keysAvailable: () => boolean;
  /** Absent where there are no jobs. */
  readJobs?: (() => Promise<JobNumbers>) | undefined;
}

/** The metrics of a gateway or a worker, in a registry of their own, with those of Node and the process. */
export function createMetrics(options: MetricsOptions) {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry });
  const meters = createMeters(registry);
  const { observe, addTaskMs } = meterCalls(meters);
  meterWaits(meters, options);
  meterState(meters, options);
  return {
    observe,
    ...meterJobs(meters, options.readJobs, addTaskMs),
    facts: (): Promise<MetricFacts> => registry.getMetricsAsJSON(),
    /** Prometheus text; of all processes of the host as one where their `facts` are given, this one's among them. */
    async text(all?: readonly MetricFacts[]): Promise<{ type: string; body: string }> {
      const metrics = all ? AggregatorRegistry.aggregate([...all]) : registry;
      return { type: registry.contentType, body: await metrics.metrics() };
    },
  };
}

/** An answered call, without tenant and key, whose number has no bound. */
interface ObservedCall {
  /** The helper's id, or null for any other path. */
  service: string | null;
  /** The error's code, or `ok`. */
  code: string;
  seconds: number;
  /** Milliseconds spent on the call's tasks; 0 for a helper that runs inline. */
  taskMs: number;
}

/** A helper's calls since the counters were last read: the library takes longer to find a counter than to add to it. */
interface Counted {
  label: { service: string };
  codes: Map<string, number>;
  taskMs: number;
}

function meterCalls({ counter, histogram }: Meters) {
  const counted = new Map<string, Counted>();
  counter(
    'calls_total',
    'Answered calls, by helper and error code (ok where it succeeded).',
    ['service', 'code'],
    (calls) => {
      for (const { label, codes } of counted.values()) {
        for (const [code, number] of codes) calls.inc({ ...label, code }, number);
        codes.clear();
      }
    },
  );
  const seconds = histogram(
    'call_seconds',
    'Time from the request line to the answer, by helper.',
    ['service'],
    secondsOfACall,
  );
  counter(
    'task_seconds_total',
    'Time spent on tasks, by helper: in worker threads, and on the main thread by short calls.',
    ['service'],
    (spent) => {
      for (const each of counted.values()) {
        if (each.taskMs > 0) spent.inc(each.label, each.taskMs / 1000);
        each.taskMs = 0;
      }
    },
  );

  function countedOf(service: string): Counted {
    const each = counted.get(service) ?? { label: { service }, codes: new Map(), taskMs: 0 };
    counted.set(service, each);
    return each;
  }

  return {
    observe({ service, code, seconds: spent, taskMs }: ObservedCall): void {
      const each = countedOf(service ?? 'none');
      each.codes.set(code, (each.codes.get(code) ?? 0) + 1);
      each.taskMs += taskMs;
      seconds.observe(each.label, spent);
    },
    /** Adds time on tasks that belong to no call, such as an item of a job. */
    addTaskMs(service: string, ms: number): void {
      countedOf(service).taskMs += ms;
    },
  };
}

/** Measures what calls wait for: a thread, and their own bytes. */
function meterWaits({ histogram }: Meters, { pool, inboundBudget }: MetricsOptions): void {
  const queued = histogram(
    'queue_wait_seconds',
    'Time that tasks waited for a worker thread, by work (direct calls or items of jobs) and by the class of the tenant.',
    ['work', 'class'],
    secondsOfACall,
  );
  // Made once: observing then allocates nothing.
  const labelsOf = (work: string) => ({
    w1: { work, class: 'w1' },
    'w2-9': { work, class: 'w2-9' },
    'w10+': { work, class: 'w10+' },
  });
  const direct = labelsOf('direct');
  const ofJobs = labelsOf('job');
  pool.watch((waitMs, { weight, background }) => {
    queued.observe((background ? ofJobs : direct)[classOf(weight)], waitMs / 1000);
  });

  const arrived = histogram(
    'arriving_seconds',
    'Time that bodies and downloads were on their way, those included that were given up.',
    ['kind'],
    secondsOfACall,
  );
  const kinds = { request_timeout: { kind: 'body' }, source_timeout: { kind: 'download' } };
  inboundBudget.watch((timeout, ms) => arrived.observe(kinds[timeout], ms / 1000));
}

/** The state at the moment the metrics are read. */
function meterState(
  { counter, gauge }: Meters,
  { pool, inboundBudget, outboundBudget, cache, keysAvailable }: MetricsOptions,
): void {
  counter(
    'cache_uses_total',
    'Answers (result) and downloads (source) by cache status: hit, revalidated, shared, or miss.',
    ['cache', 'outcome'],
    (uses) => {
      uses.reset();
      for (const { number, ...labels } of cache.stats().uses) uses.inc(labels, number);
    },
  );
  gauge('pool_threads', 'Worker threads that can run a task.', () => pool.stats().threads);
  gauge('pool_running', 'Tasks that run.', () => pool.stats().running);
  gauge('pool_places', 'Slots in use in the pool: calls that run or wait.', () => pool.stats().places);
  const slowed = 'Helpers that timed out again and again, of which one task runs at a time.';
  gauge('pool_slowed_helpers', slowed, () => pool.slowed().length, 'max');
  gauge('arriving', 'Bodies and downloads on their way.', () => inboundBudget.stats().arriving);
  const input = 'Bytes held of bodies and downloads, on their way and waiting.';
  gauge('input_bytes', input, () => inboundBudget.stats().bytes);
  const output = 'Bytes held of answers that clients have not read yet.';
  gauge('output_bytes', output, () => outboundBudget?.stats().bytes ?? 0);
  gauge('cache_bytes', 'Bytes of cached answers and downloads.', () => cache.stats().bytes);
  gauge('cache_entries', 'Cached answers and downloads.', () => cache.stats().entries);
  gauge('keys_available', 'Whether the key database answers.', () => (keysAvailable() ? 1 : 0), 'min');
}

/** An item of a job that has ended in this process; `weight` is its tenant's. */
interface ObservedItem extends Pick<ObservedCall, 'code' | 'taskMs'> {
  service: string;
  /** From the creation of its job to its start. */
  waitSeconds: number;
  weight: number;
}

/** The outcome of one attempt to notify a webhook: accepted, refused and to be retried, or given up. */
type WebhookOutcome = 'sent' | 'failed' | 'given_up';

function meterJobs(
  { counter, histogram, gauge }: Meters,
  readJobs: MetricsOptions['readJobs'],
  addTaskMs: (service: string, ms: number) => void,
) {
  const items = counter(
    'job_items_total',
    'Items of jobs that ended in this process, by helper and error code (ok where it succeeded).',
    ['service', 'code'],
  );
  const waits = histogram(
    'job_item_wait_seconds',
    'Time from the request for a job to the beginning of an item, by the class of the tenant.',
    ['class'],
    secondsOfAJob,
  );
  const notified = 'Attempts to notify a webhook of the end of a job, by outcome.';
  const webhooks = counter('webhooks_total', notified, ['outcome']);
  const numbers = readJobs ? createJobNumbers({ read: readJobs }) : async () => undefined;
  function jobGauge(name: string, help: string, value: (numbers: JobNumbers) => number): void {
    const current = async () => {
      const known = await numbers();
      return known && value(known);
    };
    gauge(name, `${help}, in all processes together.`, current, 'max');
  }
  jobGauge('job_items_waiting', 'Items of jobs that wait', ({ waiting }) => waiting);
  jobGauge('job_items_running', 'Items of jobs that are worked on', ({ running }) => running);
  jobGauge(
    'jobs_oldest_wait_seconds',
    'How long the item has waited that waits the longest',
    ({ oldestWaitingAt: at }) => (at === null ? 0 : Math.max(0, (Date.now() - at) / 1000)),
  );

  return {
    observeItem({ service, code, waitSeconds, taskMs, weight }: ObservedItem): void {
      items.inc({ service, code });
      // Clocks of two hosts may differ by more than it waited.
      waits.observe({ class: classOf(weight) }, Math.max(0, waitSeconds));
      addTaskMs(service, taskMs);
    },
    observeWebhook: (outcome: WebhookOutcome): void => webhooks.inc({ outcome }),
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

interface JobNumbersOptions {
  read: () => Promise<JobNumbers>;
  /** In milliseconds since 1970. */
  now?: () => number;
  patienceMs?: number;
}

/** Caches numbers that take a query: a reader gets the last known, after it has waited up to `patienceMs` for newer ones. */
export function createJobNumbers({ read, now = Date.now, patienceMs = 500 }: JobNumbersOptions) {
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

  return async function numbers(): Promise<JobNumbers | undefined> {
    if (!last || now() - last.at >= freshMs) {
      reading ??= refresh();
      await Promise.race([reading, sleep(patienceMs, undefined, { ref: false })]);
    }
    return last && now() - last.at < staleMs ? last.numbers : undefined;
  };
}

const prefix = 'helper_gateway_';

/** From a task that starts at once to the longest wait of a call. */
const secondsOfACall = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];

/** From a tenth of a second to a day. */
const secondsOfAJob = [0.1, 0.5, 1, 5, 15, 60, 300, 900, 3600, 14_400, 86_400];

type Meters = ReturnType<typeof createMeters>;

/** Makes metrics in this registry, all with the gateway's prefix. */
function createMeters(registry: Registry) {
  const registers = [registry];
  return {
    /** `collect` fills it when the metrics are read, where counting elsewhere is cheaper. */
    counter: <Label extends string>(
      name: string,
      help: string,
      labelNames: Label[],
      collect?: (counter: Counter<Label>) => void,
    ) =>
      new Counter({
        name: prefix + name,
        help,
        labelNames,
        registers,
        collect() {
          collect?.(this);
        },
      }),
    histogram: <Label extends string>(name: string, help: string, labelNames: Label[], buckets: number[]) =>
      new Histogram({ name: prefix + name, help, labelNames, buckets, registers }),
    /** A value at the moment the metrics are read; left out while undefined. `aggregator` joins several processes of a host. */
    gauge(
      name: string,
      help: string,
      value: () => number | undefined | Promise<number | undefined>,
      aggregator: 'sum' | 'max' | 'min' = 'sum',
    ): void {
      new Gauge({
        name: prefix + name,
        help,
        registers,
        aggregator,
        async collect() {
          const now = await value();
          if (now === undefined) this.remove();
          else this.set(now);
        },
      });
    },
  };
}

/** The class of a tenant by its weight (1 to 100): tenants have no bound, and a metric's labels must have one. Most weigh 1. */
export function classOf(weight: number): 'w1' | 'w2-9' | 'w10+' {
  if (weight >= 10) return 'w10+';
  return weight >= 2 ? 'w2-9' : 'w1';
}
