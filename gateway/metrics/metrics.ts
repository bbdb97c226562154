import { AggregatorRegistry, collectDefaultMetrics, Registry } from 'prom-client';
import type { Pool } from '../../pool/pool.js';
import type { Arrivals } from '../http/flow/arrivals.js';
import { meterCalls, type ObservedCall } from './calls.js';
import { meterState, type Observed } from './gauges.js';
import type { JobNumbers } from './job-numbers.js';
import { meterJobs, type ObservedItem, type WebhookOutcome } from './jobs.js';
import { createMeters } from './meters.js';
import { meterWaits } from './waits.js';

/** All metrics of a process, as they are sent to another: the library's own data, as far as others look at it. */
export type MetricFacts = readonly {
  name: string;
  type?: unknown;
  values: readonly { value: number; labels: object; metricName?: string }[];
}[];

export interface Metrics {
  observe(call: ObservedCall): void;
  /** Counts an item of a job that has ended here. */
  observeItem(item: ObservedItem): void;
  /** Counts an attempt to tell a webhook. */
  observeWebhook(outcome: WebhookOutcome): void;
  /** Everything, as data: for another process of the host. */
  facts(): Promise<MetricFacts>;
  /** Everything, as Prometheus text; of all processes of the host as one where their `facts` are given, this one's among them. */
  text(all?: readonly MetricFacts[]): Promise<{ type: string; body: string }>;
}

export interface MetricsOptions extends Observed {
  pool: Pick<Pool, 'stats' | 'watch' | 'slowed'>;
  arrivals: Pick<Arrivals, 'stats' | 'watch'>;
  /** Asks what waits of all jobs; absent where there are none. */
  readJobs?: (() => Promise<JobNumbers>) | undefined;
}

/** The metrics of a gateway or a worker, in a registry of their own; Node's and the process's come with them. */
export function createMetrics(options: MetricsOptions): Metrics {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry });
  const meters = createMeters(registry);
  const { observe, addTaskMs } = meterCalls(meters);
  meterWaits(meters, options);
  meterState(meters, options);
  const jobs = meterJobs(meters, { readJobs: options.readJobs, addTaskMs });
  return {
    observe,
    ...jobs,
    facts: () => registry.getMetricsAsJSON(),
    async text(all) {
      const told = all ? AggregatorRegistry.aggregate([...all]) : registry;
      return { type: registry.contentType, body: await told.metrics() };
    },
  };
}
