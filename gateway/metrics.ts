import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';
import type { Pool } from '../pool/pool.js';
import type { Cache } from './cache/cache.js';
import type { Arrivals } from './http/flow/arrivals.js';
import type { Departures } from './http/flow/departures.js';

/** One answered call, as the metrics see it: no tenant and no key, whose number has no bound. */
export interface ObservedCall {
  /** The helper's id, or null for any other path. */
  service: string | null;
  /** The error's code, or `ok`. */
  code: string;
  seconds: number;
  /** Milliseconds spent on the call's tasks; 0 for a helper that runs inline. */
  taskMs: number;
}

export interface Metrics {
  observe(call: ObservedCall): void;
  /** Everything, as Prometheus text. */
  text(): Promise<{ type: string; body: string }>;
}

export interface MetricsOptions {
  pool: Pool;
  arrivals: Pick<Arrivals, 'stats'>;
  departures: Pick<Departures, 'stats'>;
  cache: Pick<Cache, 'stats'>;
  keysAvailable: () => boolean;
}

/** A helper's calls since the counters were last read: the library takes longer to find a counter than to add to it. */
interface Counted {
  label: { service: string };
  codes: Map<string, number>;
  taskMs: number;
}

const prefix = 'helper_gateway_';

/** The gateway's metrics, in a registry of their own; Node's and the process's come with them. */
export function createMetrics({ pool, arrivals, departures, cache, keysAvailable }: MetricsOptions): Metrics {
  const registry = new Registry();
  const registers = [registry];
  collectDefaultMetrics({ register: registry });
  const counted = new Map<string, Counted>();
  new Counter({
    name: `${prefix}calls_total`,
    help: 'Answered calls, by helper and error code (ok where it succeeded).',
    labelNames: ['service', 'code'] as const,
    registers,
    collect() {
      for (const { label, codes } of counted.values()) {
        for (const [code, number] of codes) this.inc({ ...label, code }, number);
        codes.clear();
      }
    },
  });
  const seconds = new Histogram({
    name: `${prefix}call_seconds`,
    help: 'Time from the request line to the answer, by helper.',
    labelNames: ['service'] as const,
    buckets: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10],
    registers,
  });
  new Counter({
    name: `${prefix}task_seconds_total`,
    help: 'Time spent on tasks, by helper: in worker threads, and on the main thread by short calls.',
    labelNames: ['service'] as const,
    registers,
    collect() {
      for (const each of counted.values()) {
        if (each.taskMs > 0) this.inc(each.label, each.taskMs / 1000);
        each.taskMs = 0;
      }
    },
  });
  new Counter({
    name: `${prefix}cache_uses_total`,
    help: 'Answers (result) and downloads (source) by how they were come by: kept, revalidated, shared, or made.',
    labelNames: ['cache', 'outcome'] as const,
    registers,
    collect() {
      this.reset();
      for (const { number, ...labels } of cache.stats().uses) this.inc(labels, number);
    },
  });
  const gauge = (name: string, help: string, value: () => number) =>
    new Gauge({
      name: prefix + name,
      help,
      registers,
      collect() {
        this.set(value());
      },
    });
  gauge('pool_threads', 'Worker threads that can run a task.', () => pool.stats().threads);
  gauge('pool_running', 'Tasks that run.', () => pool.stats().running);
  gauge(
    'pool_places',
    'Places taken in the pool: calls whose work runs or waits.',
    () => pool.stats().places,
  );
  gauge('arriving', 'Bodies and downloads on their way.', () => arrivals.stats().arriving);
  gauge(
    'input_bytes',
    'Bytes held of bodies and downloads, on their way and waiting.',
    () => arrivals.stats().bytes,
  );
  gauge(
    'output_bytes',
    'Bytes held of answers that clients have not taken yet.',
    () => departures.stats().bytes,
  );
  gauge('cache_bytes', 'Bytes kept of answers and downloads.', () => cache.stats().bytes);
  gauge('cache_entries', 'Answers and downloads kept.', () => cache.stats().entries);
  gauge('keys_available', 'Whether the key database answers.', () => (keysAvailable() ? 1 : 0));

  return {
    observe({ service, code, seconds: spent, taskMs }) {
      const name = service ?? 'none';
      let each = counted.get(name);
      if (!each) {
        each = { label: { service: name }, codes: new Map(), taskMs: 0 };
        counted.set(name, each);
      }
      each.codes.set(code, (each.codes.get(code) ?? 0) + 1);
      each.taskMs += taskMs;
      seconds.observe(each.label, spent);
    },
    text: async () => ({ type: registry.contentType, body: await registry.metrics() }),
  };
}
