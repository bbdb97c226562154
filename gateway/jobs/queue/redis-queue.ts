import type { Logger } from 'pino';
import { connectRedis, type RedisConnection } from '../../database/redis.js';
import { backendOptions, createBullmqQueue } from './bullmq-queue.js';
import { defaultLeaseMs, type JobQueue } from './job-queue.js';

interface RedisQueueOptions {
  /** `redis://` or `rediss://`. */
  url: string;
  logger: Pick<Logger, 'info' | 'warn'>;
  leaseMs?: number;
  /** What all keys begin with, less a colon. */
  prefix?: string;
  commandTimeoutMs?: number;
}

/** What the start waits for a first connection; without one it goes on, and the queue is there when Redis is. */
const firstConnectionMs = 2_000;
/** Of one connection, which sends whatever is asked in a moment together. */
const lanes = 32;

/** A queue on Redis, over one connection for all tenants. */
export async function openRedisQueue(options: RedisQueueOptions): Promise<JobQueue> {
  const { url, logger, leaseMs = defaultLeaseMs, prefix = 'hg:jobs', commandTimeoutMs = 5_000 } = options;
  const { createRedisBackend } = await import('bullmq');
  const connection = connectRedis({ url, commandTimeoutMs, firstConnectionMs, name: 'helper-gateway-jobs' });
  const { client } = connection;
  const stopLogging = logOutages(connection, logger);
  const forAll = {
    connection: client,
    // It would ask at the first connection, at any time, and write its opinion of the answer to the console.
    skipVersionCheck: true,
    skipWaitingForReady: true,
    ...backendOptions(leaseMs),
  };
  const root = createRedisBackend('all', forAll);
  root.on('error', () => {});
  await connection.connected;
  return createBullmqQueue(
    {
      root,
      leaseMs,
      lanes,
      onFault(error) {
        // A connection that is open but dead is found by nothing else.
        const timedOut = error instanceof Error && error.message === 'Command timed out';
        if (timedOut && client.status === 'ready') client.disconnect(true);
      },
      async close() {
        stopLogging();
        await root.close();
        client.disconnect();
      },
    },
    prefix,
  );
}

/** Logs once that Redis is away, and once that it is back; until the returned function is called. */
function logOutages({ client, reason }: RedisConnection, logger: Pick<Logger, 'info' | 'warn'>): () => void {
  let away = false;
  function onClose(): void {
    const why = { reason: reason() ?? 'the connection was closed' };
    if (!away) logger.warn(why, 'Redis cannot be used: jobs wait');
    away = true;
  }
  client.on('close', onClose);
  client.on('ready', async () => {
    if (away) logger.info({}, 'Redis is back: jobs go on');
    away = false;
    const info = await client.info('memory').catch(() => '');
    const policy = /^maxmemory_policy:(\S+)/m.exec(info)?.[1] ?? 'noeviction';
    if (policy !== 'noeviction')
      logger.warn(
        { policy },
        'Redis may drop items of jobs when it is full: set maxmemory-policy noeviction',
      );
  });
  return () => void client.off('close', onClose);
}
