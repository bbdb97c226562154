import type { Logger } from 'pino';
import type { Stop } from '../pool/fair-queue.js';
import type { WorkerReport } from '../pool/task.js';
import type { Closers } from './closers.js';
import type { Config } from './config.js';
import { type BatchWriter, createBatchWriter, pruneWriters } from './database/batch-writer.js';
import type { Database } from './database/database.js';
import { openDatabase } from './database/open-database.js';
import { pruneDaily } from './database/prune-daily.js';
import { logCutLimits } from './helpers/cut-limits.js';
import type { Environment } from './helpers/helper-config.js';
import { createHelperReload, type DevMode } from './helpers/helper-reload.js';
import { HelperShelf, type LiveRegistry } from './helpers/live-registry.js';
import { tellFallback } from './helpers/tell-fallback.js';
import { createKeyStore } from './keys/sql-store.js';
import type { KeyStore } from './keys/store.js';
import { tellKeyOutage } from './keys/tell-outage.js';
import { createKeyVerifier, type KeyVerifier } from './keys/verifier.js';
import { createLimiter, type Limiter } from './limits/limiter.js';
import { pruneQuotas } from './limits/quota-store.js';
import type { SharedCounts } from './limits/shared-counts.js';
import { openWork, type Work } from './local/work.js';
import { migrations } from './migrations.js';
import { openReuse } from './pipeline/open-reuse.js';
import type { ReuseParts } from './pipeline/reuse.js';
import { warmUp } from './pipeline/warm-up.js';
import { openSigning } from './signing/open-signing.js';
import type { SigningSecrets } from './signing/signing-secrets.js';
import { openTracing } from './tracing/open-tracing.js';
import type { Tracing } from './tracing/tracing.js';
import { createUsageMeter, type UsageMeter } from './usage/meter.js';
import { pruneUsage } from './usage/retention.js';

/** What a process that works for tenants stands on, whether it serves their calls or takes their jobs. */
export interface Core {
  work: Work;
  registry: LiveRegistry;
  engine: WorkerReport;
  /** Loads helpers anew, as `Gateway.reload` says. */
  reload(changed?: Iterable<string>): Promise<void>;
  database: Database;
  store: KeyStore;
  signing: SigningSecrets;
  keys: KeyVerifier;
  writer: BatchWriter;
  usage: UsageMeter;
  limiter: Limiter;
  reuse: ReuseParts;
  /** Absent where calls are not followed. */
  tracing: Tracing | undefined;
}

export interface CoreOptions {
  config: Config;
  logger: Logger;
  closers: Closers;
  /** Where plugins' own configuration is set. */
  env: Environment;
  /** A plugin that cannot be loaded stops no start then. */
  dev?: DevMode | undefined;
  /** Why no task of this tenant may start; any may by default. */
  stopOf?: (tenant: string) => Stop | undefined;
  /** What several processes of this host count together. */
  counts?: SharedCounts | undefined;
}

/** Opens it by the configuration: helpers and their threads, the database and what is kept in it. What is opened is left to `closers`. */
export async function openCore({
  config,
  logger,
  closers,
  env,
  dev,
  stopOf,
  counts,
}: CoreOptions): Promise<Core> {
  // In dev the author's helpers are loaded as any later version of them will be.
  const atStart = dev ? { ...config, pluginDirs: [] } : config;
  const tracing = await openTracing(config.otlpUrl, { logger, closers });
  const work = openWork({ config: atStart, logger, env, closers, ...(stopOf ? { stopOf } : {}) });
  const { loading, pool, inline } = work;
  const [loaded, engine, database] = await Promise.all([
    loading,
    // The others follow when the gateway is ready.
    pool.start(1),
    openDatabase(config, {
      migrations,
      create: true,
      ownThread: true,
      onConnectionLost: (error) => logger.debug({ err: error }, 'database connection lost'),
    }).then((opened) => closers.own(opened)),
    loading.then(async (registry) => {
      await Promise.all([...registry.values()].map(inline.helpers.prepare));
      // Those of the others run when the gateway is ready: their faults would be ours, and stop no start.
      await warmUp(
        [...registry.values()].filter(({ shipped }) => !shipped),
        inline,
      );
    }),
  ]);
  for (const helper of loaded.values()) helper.group = pool.first;
  const registry = new HelperShelf(loaded);
  const live = { config, env, shelf: registry, pool, engine, logger, dev };
  const reloader = closers.own(createHelperReload(live));
  if (dev) await reloader.reload();
  logCutLimits(registry, config, logger);
  tellFallback(engine, logger);
  const store = createKeyStore(database.access());
  const signing = await openSigning(config);
  const keys = closers.own(
    createKeyVerifier({ store, cacheSize: config.keyCache, ...tellKeyOutage(logger) }),
  );
  const writer = closers.own(createBatchWriter({ access: database.access(), logger }));
  const usage = closers.own(createUsageMeter({ access: database.access(), writer, logger }));
  const { redisUrl, redisOutageShare: outageShare, usageDays } = config;
  const limiter = closers.own(
    await createLimiter({ access: database.access(), writer, logger, redisUrl, outageShare, counts }),
  );
  closers.own(
    pruneDaily({
      access: database.access(),
      logger,
      parts: [pruneUsage(usageDays), pruneQuotas(usageDays), pruneWriters],
    }),
  );
  const reuse = await openReuse(work, engine, config);
  const { reload } = reloader;
  return {
    work,
    registry,
    engine,
    reload,
    database,
    store,
    signing,
    keys,
    writer,
    usage,
    limiter,
    reuse,
    tracing,
  };
}
