import type { Pool } from '../../pool/pool.js';
import type { WorkerReport } from '../../pool/task.js';
import type { Config } from '../config.js';
import type { Database } from '../database/database.js';
import type { HealthFact } from './options.js';

/** What health is read from. */
export interface HealthSources {
  config: Pick<Config, 'redisUrl' | 'poolThreads'>;
  database: Pick<Database, 'kind'>;
  pool: Pick<Pool, 'stats'>;
  engine: WorkerReport;
  keysAvailable: () => boolean;
}

/** How the gateway is at this moment, for the overview. */
export function healthFacts({ engine, pool, database, keysAvailable, config }: HealthSources): HealthFact[] {
  const { running, places, threads } = pool.stats();
  const name = database.kind === 'sqlite' ? 'SQLite' : 'PostgreSQL';
  return [
    {
      name: 'Image engine',
      value: engine.engine,
      state: engine.fallbackReason === undefined ? 'good' : 'warn',
    },
    {
      name: 'Key database',
      value: keysAvailable() ? `${name}, answering` : `${name}, not answering`,
      state: keysAvailable() ? 'good' : 'bad',
    },
    {
      name: 'Limits',
      value: config.redisUrl ? 'shared through Redis' : 'counted by this gateway',
      state: 'good',
    },
    {
      name: 'Workers',
      value: `${running} of ${threads} running, ${Math.max(0, places - running)} waiting`,
      state: threads < config.poolThreads ? 'warn' : 'good',
    },
  ];
}
