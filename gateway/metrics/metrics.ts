import { AggregatorRegistry, collectDefaultMetrics, Registry } from 'prom-client';
import type { Pool } from '../../pool/pool.js';
import type { Arrivals } from '../http/flow/arrivals.js';
import { meterCalls, type ObservedCall } from './calls.js';
import { meterState, type Observed } from './gauges.js';
import type { JobNumbers } from './job-numbers.js';
import { meterJobs, type ObservedItem, type WebhookOutcome } from './jobs.js';
import { createMeters } from './meters.js';
import { meterWaits } from './waits.js';

/** All metrics of a process, as they are sent to another. */
export type MetricFacts = object;

export interface Metrics {
  observe(call: ObservedCall): void;
  /** Counts an item of a job that has ended here. */
  observeItem(item: ObservedItem): void;
  /** Counts an attempt to tell a webhook. */
  observeWebhook(outcome: WebhookOutcome): void;
  /** Everything, as data: for another process of the host. */
  facts(): Promise<MetricFacts>;
  /** Everything, as Prometheus text; with the `facts` of other processes of the host, all of them as one. */
  text(others?: readonly MetricFacts[]): Promise<{ type: string; body: string }>;
}

export interface MetricsOptions extends Observed {
  pool: Pick<Pool, 'stats' | 'watch'>;
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
    async text(others = []) {
      const all =
        others.length > 0
          ? AggregatorRegistry.aggregate([await registry.getMetricsAsJSON(), ...others])
          : registry;
      return { type: registry.contentType, body: await all.metrics() };
    },
  };
}
