import { join, resolve } from 'node:path';
import type { Logger } from 'pino';
import type { Pool } from '../../pool/pool.js';
import type { Closers } from '../closers.js';
import type { Config } from '../config.js';
import type { Database } from '../database/database.js';
import { withStore } from '../database/store-error.js';
import { GatewayError } from '../errors.js';
import { limitsByDefault } from '../limits/limiter.js';
import type { Metrics } from '../observability/metrics.js';
import type { Registry } from '../plugins/registry.js';
import type { SigningSecrets } from '../signing/signing-secrets.js';
import { createJobs } from './jobs.js';
import type { Job } from './model.js';
import type { JobQueue } from './queue/job-queue.js';
import { createSqliteQueue, type QueueTables } from './queue/sqlite-queue.js';
import { createFolderStore, requireFree } from './results/folder-store.js';
import { type ResultStore, resultStore } from './results/result-store.js';
import { checkSharedStore, createStoreWatch, type SharedStoreTables } from './results/shared-store.js';
import { type Cleanup, clearInputs, startCleanup } from './runner/cleanup.js';
import type { ItemParts } from './runner/item-stages.js';
import { createMaintenance, type Maintenance } from './runner/maintenance.js';
import { createRetryPolicy } from './runner/retry-policy.js';
import { createRunner, type Runner } from './runner/runner.js';
import { createJobStore } from './store/job-store.js';
import type { JobTables } from './store/tables.js';
import { openWebhooks } from './webhooks/sender.js';

interface JobsOptions {
  config: Config;
  logger: Logger;
  closers: Closers;
  database: Database;
  registry: Pick<Registry, 'get'>;
  /** What items are worked on with. */
  work: Pick<ItemParts, 'files' | 'inboundBudget' | 'bodyLimits' | 'imageLimits' | 'inline'> & {
    pool: Pick<Pool, 'ticket' | 'handBack'>;
  };
  keys: ItemParts['keys'];
  limiter: ItemParts['limiter'];
  reuse: ItemParts['reuse'];
  tracing?: ItemParts['tracing'];
  signing: Pick<SigningSecrets, 'webhooks'>;
  /** Whether this process works on items itself, when no call wants a thread. */
  works: boolean;
  tuning?: JobTuning | undefined;
}

/** For tests: what is else the same everywhere. */
export interface JobTuning {
  queue?: QueueTuning;
  pollMs?: number;
}

type JobMetrics = Pick<Metrics, 'observeItem' | 'observeWebhook'>;

/** Throws where the embedded database has no room for inputs of so many bytes. */
async function requireDisk({ databaseUrl, dataDir }: Config, bytes: number): Promise<void> {
  if (databaseUrl !== undefined) return;
  await withStore(resultStore, () => requireFree(dataDir, { bytes, part: 1 / 4 }));
}

/** Opens a process's part in jobs by the configuration; what is opened is left to `closers`. */
export async function openJobs(options: JobsOptions) {
  const { config, logger, closers, database, tuning = {} } = options;
  const ttlSeconds = config.jobTtlSeconds;
  const store = createJobStore(database.access<JobTables>());
  const results = closers.own(await openResults(config));
  const queue = closers.own(await openJobQueue(config, database, logger, tuning.queue));
  const retryPolicy = createRetryPolicy({ logger });
  const watch = createStoreWatch(
    () => checkSharedStore(database.access<SharedStoreTables>(), results, Date.now() - ttlSeconds * 1_000),
    logger,
  );
  function refusal(): GatewayError | undefined {
    const message = watch.message();
    return message === undefined ? undefined : new GatewayError('storage_unavailable', { message });
  }

  let metrics: JobMetrics | undefined;
  const webhooks = openWebhooks({
    ...options,
    access: database.access(),
    secrets: options.signing.webhooks,
    observe: (outcome) => metrics?.observeWebhook(outcome),
  });
  let runner: Runner | undefined;
  let maintenance: Maintenance | undefined;
  let cleanup: Cleanup | undefined;
  let stopping: Promise<void> | undefined;

  /** Files that were inputs are of no use behind a job's end. What is left here is removed in a later round of `cleanup`. */
  function tidy(ended: readonly Job[]): void {
    clearInputs({ store, results }, ended).catch(() => undefined);
    webhooks.wake();
  }

  /** Removes what was cancelled from the queue. What stays is passed over when the tenant's next job is worked on. */
  async function removeCancelled(tenant: string, job: string): Promise<void> {
    try {
      const items = await store.cancelled(job);
      if (items.length > 0) await queue.remove(tenant, items);
    } catch (error) {
      logger.debug({ err: error, job }, 'cancelled items stay in the queue for now');
    }
  }

  async function stopAll(): Promise<void> {
    await runner?.close();
    retryPolicy.stop();
    await Promise.all([maintenance?.close(), cleanup?.close()]);
  }

  function stop(): Promise<void> {
    stopping ??= stopAll();
    return stopping;
  }

  closers.add(stop);
  return {
    jobs: createJobs({
      store,
      results,
      ttlSeconds,
      most: { inputs: config.maxOpenJobBytes, results: config.maxResultBytes },
      requireDisk: (bytes) => requireDisk(config, bytes),
      onCreated: (job, isNext) => maintenance?.created(job, isNext),
      onCancelled: (tenant, job) => void removeCancelled(tenant, job),
      refusal,
      async lastRefusal() {
        await watch.look({ anew: true });
        return refusal();
      },
    }),
    stats: store.stats,
    webhooks,
    /** Begins to work on jobs, observed by these metrics. */
    start(started: JobMetrics): void {
      metrics = started;
      if (options.works) {
        runner = createRunner({
          ...options,
          ...options.work,
          ...{ store, queue, results, retryPolicy, observeItem: started.observeItem },
          mostResultBytes: config.maxResultBytes,
          onJobsEnded: tidy,
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

/** For tests: how long leases last, and what begins each key in Redis. */
interface QueueTuning {
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
    const { openRedisQueue } = await import('./queue/redis-queue.js');
    return openRedisQueue({ url: redisUrl, logger, ...lease, ...(prefix === undefined ? {} : { prefix }) });
  }
  if (databaseUrl !== undefined) {
    const { openPostgresQueue } = await import('./queue/postgres-queue.js');
    return openPostgresQueue({ url: databaseUrl, logger, ...lease });
  }
  return createSqliteQueue(database.access<QueueTables>(), lease);
}

/**
 * Opens the store that the configuration names. Nothing is asked of it yet, so one that is away stops no start; a configuration with
 * which none can be opened rejects with a `ConfigError`.
 */
export async function openResults(config: Config): Promise<ResultStore> {
  if (config.resultsUrl === undefined) return createFolderStore(resolve(join(config.dataDir, 'results')));
  // Most gateways need none of what it brings along.
  const { openS3Results } = await import('./results/s3-store.js');
  return openS3Results(config.resultsUrl, config);
}
