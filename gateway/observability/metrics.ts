import { AggregatorRegistry, collectDefaultMetrics, Registry } from 'prom-client';
import type { Pool } from '../../pool/pool.js';
import type { Cache } from '../cache.js';
import type { InboundBudget } from '../http/inbound-budget.js';
import type { OutboundBudget } from '../http/outbound-budget.js';
import { type JobMeters, type JobNumbers, meterJobs } from './job-metrics.js';
import { classOf, createMeters, type Meters, secondsOfACall } from './meters.js';

/** The library's data of all metrics, as far as others look at it: one process sends it to another. */
export type MetricFacts = readonly {
  name: string;
  type?: unknown;
  values: readonly { value: number; labels: object; metricName?: string }[];
}[];

export interface Metrics extends JobMeters {
  observe(call: ObservedCall): void;
  facts(): Promise<MetricFacts>;
  /** Prometheus text; of all processes of the host as one where their `facts` are given, this one's among them. */
  text(all?: readonly MetricFacts[]): Promise<{ type: string; body: string }>;
}

export interface MetricsOptions {
  pool: Pick<Pool, 'stats' | 'watch' | 'slowed'>;
  inboundBudget: Pick<InboundBudget, 'stats' | 'watch'>;
  /** Absent where no calls are answered. */
  outboundBudget?: Pick<OutboundBudget, 'stats'>;
  cache: Pick<Cache, 'stats'>;
  keysAvailable: () => boolean;
  /** Absent where there are no jobs. */
  readJobs?: (() => Promise<JobNumbers>) | undefined;
}

/** The metrics of a gateway or a worker, in a registry of their own, with those of Node and the process. */
export function createMetrics(options: MetricsOptions): Metrics {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry });
  const meters = createMeters(registry);
  const { observe, addTaskMs } = meterCalls(meters);
  meterWaits(meters, options);
  meterState(meters, options);
  return {
    observe,
    ...meterJobs(meters, { readJobs: options.readJobs, addTaskMs }),
    facts: () => registry.getMetricsAsJSON(),
    async text(all) {
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
    {
      name: 'calls_total',
      help: 'Answered calls, by helper and error code (ok where it succeeded).',
      labels: ['service', 'code'],
    },
    (calls) => {
      for (const { label, codes } of counted.values()) {
        for (const [code, number] of codes) calls.inc({ ...label, code }, number);
        codes.clear();
      }
    },
  );
  const seconds = histogram(
    {
      name: 'call_seconds',
      help: 'Time from the request line to the answer, by helper.',
      labels: ['service'],
    },
    secondsOfACall,
  );
  counter(
    {
      name: 'task_seconds_total',
      help: 'Time spent on tasks, by helper: in worker threads, and on the main thread by short calls.',
      labels: ['service'],
    },
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
    {
      name: 'queue_wait_seconds',
      help: 'Time that tasks waited for a worker thread, by work (direct calls or items of jobs) and by the class of the tenant.',
      labels: ['work', 'class'],
    },
    secondsOfACall,
  );
  // Made once: observing then allocates nothing.
  const [direct, ofJobs] = ['direct', 'job'].map((work) => ({
    w1: { work, class: 'w1' },
    'w2-9': { work, class: 'w2-9' },
    'w10+': { work, class: 'w10+' },
  })) as [LabelsByClass, LabelsByClass];
  pool.watch((waitMs, { weight, background }) => {
    queued.observe((background ? ofJobs : direct)[classOf(weight)], waitMs / 1000);
  });

  const arrived = histogram(
    {
      name: 'arriving_seconds',
      help: 'Time that bodies and downloads were on their way, those included that were given up.',
      labels: ['kind'],
    },
    secondsOfACall,
  );
  const kinds = { request_timeout: { kind: 'body' }, source_timeout: { kind: 'download' } };
  inboundBudget.watch((timeout, ms) => arrived.observe(kinds[timeout], ms / 1000));
}

type LabelsByClass = Record<ReturnType<typeof classOf>, { work: string; class: string }>;

/** The state at the moment the metrics are read. */
function meterState(
  { counter, gauge }: Meters,
  { pool, inboundBudget, outboundBudget, cache, keysAvailable }: MetricsOptions,
): void {
  counter(
    {
      name: 'cache_uses_total',
      help: 'Answers (result) and downloads (source) by cache status: hit, revalidated, shared, or miss.',
      labels: ['cache', 'outcome'],
    },
    (uses) => {
      uses.reset();
      for (const { number, ...labels } of cache.stats().uses) uses.inc(labels, number);
    },
  );
  gauge('pool_threads', 'Worker threads that can run a task.', () => pool.stats().threads);
  gauge('pool_running', 'Tasks that run.', () => pool.stats().running);
  gauge('pool_places', 'Slots in use in the pool: calls that run or wait.', () => pool.stats().places);
  gauge(
    'pool_slowed_helpers',
    'Helpers that timed out again and again, of which one task runs at a time.',
    () => pool.slowed().length,
    'max',
  );
  gauge('arriving', 'Bodies and downloads on their way.', () => inboundBudget.stats().arriving);
  gauge(
    'input_bytes',
    'Bytes held of bodies and downloads, on their way and waiting.',
    () => inboundBudget.stats().bytes,
  );
  gauge(
    'output_bytes',
    'Bytes held of answers that clients have not read yet.',
    () => outboundBudget?.stats().bytes ?? 0,
  );
  gauge('cache_bytes', 'Bytes of cached answers and downloads.', () => cache.stats().bytes);
  gauge('cache_entries', 'Cached answers and downloads.', () => cache.stats().entries);
  gauge('keys_available', 'Whether the key database answers.', () => (keysAvailable() ? 1 : 0), 'min');
}
