import { Redis } from 'ioredis';
import type { Logger } from 'pino';
import { backendOptions, createBullmqQueue } from './bullmq-queue.js';
import { defaultLeaseMs, type JobQueue } from './job-queue.js';

export interface RedisQueueOptions {
  /** `redis://` or `rediss://`. */
  url: string;
  logger: Pick<Logger, 'info' | 'warn'>;
  leaseMs?: number;
  /** What all keys begin with, less a colon. */
  prefix?: string;
  /** Milliseconds that one command may take. */
  commandTimeoutMs?: number;
}

/** What the start waits for a first connection; without one it goes on, and the queue is there when Redis is. */
const firstConnectionMs = 2_000;
/** Of one connection, which sends whatever is asked in a moment together. */
const lanes = 32;

function connect(url: string, commandTimeout: number): Redis {
  return new Redis(url, {
    commandTimeout,
    connectTimeout: 2_000,
    // Whoever asks during an outage is told so, and asks again when it suits.
    enableOfflineQueue: false,
    autoResendUnfulfilledCommands: false,
    maxRetriesPerRequest: 0,
    retryStrategy: () => 500,
    // Of a server that has become a replica: its name may lead to another one by now.
    reconnectOnError: (error) => error.message.startsWith('READONLY'),
    connectionName: 'helper-gateway-jobs',
  });
}

/** A queue on Redis, over one connection for all tenants. */
export async function openRedisQueue(options: RedisQueueOptions): Promise<JobQueue> {
  const { url, logger, leaseMs = defaultLeaseMs, prefix = 'hg:jobs', commandTimeoutMs = 5_000 } = options;
  const { createRedisBackend } = await import('bullmq');
  const client = connect(url, commandTimeoutMs);
  const hush = logOutages(client, logger);
  const forAll = {
    connection: client,
    // It would ask at the first connection, whose time nobody knows, and write what it thinks of the answer to the console.
    skipVersionCheck: true,
    skipWaitingForReady: true,
    ...backendOptions(leaseMs),
  };
  const root = createRedisBackend('all', forAll);
  root.on('error', () => {});
  await waitForConnection(client);
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
        hush();
        await root.close();
        client.disconnect();
      },
    },
    prefix,
  );
}

/** Says once that Redis is away, and once that it is back; until the function that it gives is called. */
function logOutages(client: Redis, logger: Pick<Logger, 'info' | 'warn'>): () => void {
  let away = false;
  let quiet = false;
  let reason = 'the connection was closed';
  client.on('error', (error: NodeJS.ErrnoException) => {
    reason = error.code ?? error.message;
  });
  client.on('close', () => {
    if (!away && !quiet) logger.warn({ reason }, 'Redis cannot be used: jobs wait');
    away = true;
  });
  client.on('ready', () => {
    if (away) logger.info({}, 'Redis is back: jobs go on');
    away = false;
    void checkEvictionPolicy(client, logger);
  });
  return () => {
    quiet = true;
  };
}

async function checkEvictionPolicy(client: Redis, logger: Pick<Logger, 'warn'>): Promise<void> {
  const info = await client.info('memory').catch(() => '');
  const policy = /^maxmemory_policy:(\S+)/m.exec(info)?.[1] ?? 'noeviction';
  if (policy !== 'noeviction') {
    logger.warn({ policy }, 'Redis may drop items of jobs when it is full: set maxmemory-policy noeviction');
  }
}

async function waitForConnection(client: Redis): Promise<void> {
  await new Promise<void>((resolve) => {
    const giveUp = setTimeout(resolve, firstConnectionMs);
    for (const event of ['ready', 'error']) {
      client.once(event, () => {
        clearTimeout(giveUp);
        resolve();
      });
    }
  });
}
