import type { Logger } from 'pino';
import type { Config } from '../../config.js';
import type { Database } from '../../database/database.js';
import type { JobQueue } from './job-queue.js';
import { createSqliteQueue, type QueueTables } from './sqlite-queue.js';

/** For tests: how long leases last, and what begins each key in Redis. */
export interface QueueTuning {
  leaseMs?: number;
  prefix?: string;
}

/** Opens the queue of a gateway: on Redis where it has one, else where its database is. */
export async function openJobQueue(
  { redisUrl, databaseUrl }: Pick<Config, 'redisUrl' | 'databaseUrl'>,
  database: Database,
  logger: Pick<Logger, 'debug' | 'info' | 'warn'>,
  { prefix, ...lease }: QueueTuning = {},
): Promise<JobQueue> {
  // Most gateways need none of what these bring along.
  if (redisUrl !== undefined) {
    const { openRedisQueue } = await import('./redis-queue.js');
    return openRedisQueue({ url: redisUrl, logger, ...lease, ...(prefix === undefined ? {} : { prefix }) });
  }
  if (databaseUrl !== undefined) {
    const { openPostgresQueue } = await import('./postgres-queue.js');
    return openPostgresQueue({ url: databaseUrl, logger, ...lease });
  }
  return createSqliteQueue(database.access<QueueTables>(), lease);
}
