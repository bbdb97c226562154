import { join, resolve } from 'node:path';
import type { Logger } from 'pino';
import { once } from '../../pool/concurrency.js';
import type { Pool } from '../../pool/pool.js';
import type { Closers } from '../closers.js';
import type { Config } from '../config.js';
import type { Database } from '../database/database.js';
import { withStore } from '../database/store-error.js';
import { limitsByDefault } from '../limits/limiter.js';
import type { Metrics } from '../observability/metrics.js';
import type { TenantHelpers } from '../recipes/tenant-helpers.js';
import type { UsageMeter } from '../usage/meter.js';
import type { Webhooks } from '../webhooks/sender.js';
import { createJobs } from './jobs.js';
import type { JobQueue } from './queue/job-queue.js';
import { createSqliteQueue, type QueueTables } from './queue/sqlite-queue.js';
import { createFolderStore, requireFree } from './results/folder-store.js';
import { type ResultStore, resultStore } from './results/result-store.js';
import { createStoreWatch, type SharedStoreTables } from './results/shared-store.js';
import { type Cleanup, clearInputs, startCleanup } from './runner/cleanup.js';
import type { ItemParts } from './runner/item-stages.js';
import { createMaintenance, type Maintenance } from './runner/maintenance.js';
import { createRetryPolicy } from './runner/retry-policy.js';
import { createRunner, type Runner } from './runner/runner.js';
import { createJobStore } from './store/job-store.js';
import type { JobTables } from './store/tables.js';

interface JobsOptions extends Pick<ItemParts, 'keys' | 'limiter' | 'reuse' | 'tracing'> {
  config: Config;
  logger: Logger;
  closers: Closers;
  database: Database;
  helpers: Pick<TenantHelpers, 'find' | 'registry'>;
  /** What items are worked on with. */
  work: Pick<ItemParts, 'files' | 'inboundBudget' | 'bodyLimits' | 'imageLimits' | 'inline'> & {
    pool: Pick<Pool, 'ticket' | 'handBack'>;
  };
  usage: Pick<UsageMeter, 'recordRequest'>;
  webhooks: Pick<Webhooks, 'wake'>;
  /** Whether this process works on items itself, when no call wants a thread. */
  works: boolean;
  tuning?: JobTuning | undefined;
}

/** For tests: what is else the same everywhere. */
export interface JobTuning {
  /** How long leases last, and what begins each key in Redis. */
  queue?: { leaseMs?: number; prefix?: string };
  pollMs?: number;
}

/** Opens a process's part in jobs by the configuration; what is opened is left to `closers`. */
export async function openJobs(options: JobsOptions) {
  const { config, logger, closers, database, tuning = {} } = options;
  const ttlSeconds = config.jobTtlSeconds;
  const store = createJobStore(database.access<JobTables>());
  const results = closers.own(await openResults(config));
  const queue = closers.own(await openJobQueue(config, database, logger, tuning.queue));
  const retryPolicy = createRetryPolicy({ logger });
  const watch = createStoreWatch({
    ...{ access: database.access<SharedStoreTables>(), results, logger },
    keptSince: () => Date.now() - ttlSeconds * 1_000,
  });

  let runner: Runner | undefined;
  let maintenance: Maintenance | undefined;
  let cleanup: Cleanup | undefined;

  /** Removes what was cancelled from the queue. What stays is passed over when the tenant's next job is worked on. */
  async function removeCancelled(tenant: string, job: string): Promise<void> {
    try {
      const items = await store.cancelled(job);
      if (items.length > 0) await queue.remove(tenant, items);
    } catch (error) {
      logger.debug({ err: error, job }, 'cancelled items stay in the queue for now');
    }
  }

  const stop = once(async () => {
    await runner?.close();
    retryPolicy.stop();
    await Promise.all([maintenance?.close(), cleanup?.close()]);
  });

  closers.add(stop);
  return {
    jobs: createJobs({
      store,
      results,
      ttlSeconds,
      most: { inputs: config.maxOpenJobBytes, results: config.maxResultBytes },
      // The embedded database needs room for the inputs, too.
      requireDisk: async (bytes) => {
        if (config.databaseUrl !== undefined) return;
        await withStore(resultStore, () => requireFree(config.dataDir, { bytes, part: 1 / 4 }));
      },
      onCreated: (job, isNext) => maintenance?.created(job, isNext),
      onCancelled: (tenant, job) => void removeCancelled(tenant, job),
      watch,
    }),
    stats: store.stats,
    /** Begins to work on jobs, observed by these metrics. */
    start({ observeItem }: Pick<Metrics, 'observeItem'>): void {
      if (options.works) {
        runner = createRunner({
          ...options,
          ...options.work,
          ...{ store, queue, results, retryPolicy, observeItem },
          recordRequest: options.usage.recordRequest,
          mostResultBytes: config.maxResultBytes,
          onJobsEnded(ended) {
            // Input files are of no use any more. Those that stay are removed in a later round of `cleanup`.
            clearInputs({ store, results }, ended).catch(() => undefined);
            options.webhooks.wake();
          },
          limits: limitsByDefault(config),
          threads: config.poolThreads,
          inbound: { most: config.arriving, bytes: config.inputBytes },
        });
      }
      maintenance = createMaintenance({
        ...{ store, queue, retryPolicy, logger },
        pollMs: tuning.pollMs,
        seesFiles: watch.look,
        onOpen: (tenants) => runner?.open(tenants),
      });
      cleanup = startCleanup({ store, results, logger, ttlSeconds, seesFiles: watch.look });
    },
    /** Polls no more, lets what runs end, and hands back the rest. Twice is once. */
    stop,
  };
}

/** Opens the queue of a gateway: on Redis where it has one, else where its database is. */
export async function openJobQueue(
  { redisUrl, databaseUrl }: Pick<Config, 'redisUrl' | 'databaseUrl'>,
  database: Database,
  logger: Pick<Logger, 'debug' | 'info' | 'warn'>,
  { prefix, ...lease }: JobTuning['queue'] = {},
): Promise<JobQueue> {
  // Most gateways need none of what these bring along.
  if (redisUrl !== undefined) {
    const { openRedisQueue } = await import('./queue/redis-queue.js');
    return openRedisQueue({ url: redisUrl, logger, ...lease, ...(prefix === undefined ? {} : { prefix }) });
  }
  if (databaseUrl !== undefined) {
    const { openPostgresQueue } = await import('./queue/postgres-queue.js');
    return openPostgresQueue({ url: databaseUrl, logger, ...lease });
  }
  return createSqliteQueue(database.access<QueueTables>(), lease);
}

/** Opens the store that the configuration names, without I/O: one that is away stops no start. Rejects with a `ConfigError`. */
export async function openResults(config: Config): Promise<ResultStore> {
  if (config.resultsUrl === undefined) return createFolderStore(resolve(join(config.dataDir, 'results')));
  // Most gateways need none of what it brings along.
  const { openS3Results } = await import('./results/s3-store.js');
  return openS3Results(config.resultsUrl, config);
}
