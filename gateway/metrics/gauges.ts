import type { Pool } from '../../pool/pool.js';
import type { Cache } from '../cache/cache.js';
import type { Arrivals } from '../http/flow/arrivals.js';
import type { Departures } from '../http/flow/departures.js';
import type { Meters } from './meters.js';

/** What is looked at when the metrics are read. */
export interface Observed {
  pool: Pick<Pool, 'stats' | 'slowed'>;
  arrivals: Pick<Arrivals, 'stats'>;
  /** Absent where no calls are answered. */
  departures?: Pick<Departures, 'stats'>;
  cache: Pick<Cache, 'stats'>;
  keysAvailable: () => boolean;
}

/** Tells what is held and what goes on now, and how often the cache has helped. */
export function meterState(
  { counter, gauge }: Meters,
  { pool, arrivals, departures, cache, keysAvailable }: Observed,
): void {
  counter(
    {
      name: 'cache_uses_total',
      help: 'Answers (result) and downloads (source) by how they were come by: kept, revalidated, shared, or made.',
      labels: ['cache', 'outcome'],
    },
    (uses) => {
      uses.reset();
      for (const { number, ...labels } of cache.stats().uses) uses.inc(labels, number);
    },
  );
  gauge('pool_threads', 'Worker threads that can run a task.', () => pool.stats().threads);
  gauge('pool_running', 'Tasks that run.', () => pool.stats().running);
  gauge(
    'pool_places',
    'Places taken in the pool: calls whose work runs or waits.',
    () => pool.stats().places,
  );
  gauge(
    'pool_slowed_helpers',
    'Helpers that timed out again and again, of which one task runs at a time.',
    () => pool.slowed().length,
    'max',
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
    () => departures?.stats().bytes ?? 0,
  );
  gauge('cache_bytes', 'Bytes kept of answers and downloads.', () => cache.stats().bytes);
  gauge('cache_entries', 'Answers and downloads kept.', () => cache.stats().entries);
  gauge('keys_available', 'Whether the key database answers.', () => (keysAvailable() ? 1 : 0), 'min');
}
