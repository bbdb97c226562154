import type { Logger } from 'pino';
import type { StopReason } from '../pool/fair-queue.js';
import type { WorkerReport } from '../pool/task.js';
import type { Closers } from './closers.js';
import type { Config } from './config.js';
import { type BatchWriter, createBatchWriter, pruneWriters } from './database/batch-writer.js';
import type { Database } from './database/database.js';
import { openDatabase } from './database/open-database.js';
import { pruneDaily } from './database/prune-daily.js';
import { createKeyStore, type KeyStore } from './keys/store.js';
import { createKeyVerifier, type KeyVerifier, logKeyOutage } from './keys/verifier.js';
import { createLimiter, type Limiter } from './limits/limiter.js';
import { pruneQuotas } from './limits/quota-ledger.js';
import type { SharedCounts } from './limits/rate.js';
import { migrations } from './migrations.js';
import type { Tracing } from './observability/tracing.js';
import { openReuse, type ReuseParts } from './pipeline/reuse.js';
import { warmUp } from './pipeline/warm-up.js';
import { type Environment, HelperShelf, type LiveRegistry, logCutLimits } from './plugins/registry.js';
import { createHelperReload, type DevMode } from './plugins/reloader.js';
import { openRuntime, type Runtime } from './runtime.js';
import { openSigning, type SigningSecrets } from './signing/signing-secrets.js';
import { createUsageMeter, type UsageMeter } from './usage/meter.js';
import { pruneUsage } from './usage/store.js';

/** What a process that works for tenants stands on, whether it serves their calls or takes their jobs. */
interface Core {
  work: Runtime;
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

interface CoreOptions {
  config: Config;
  logger: Logger;
  closers: Closers;
  /** Where plugins' own configuration is set. */
  env: Environment;
  /** A plugin that cannot be loaded stops no start then. */
  dev?: DevMode | undefined;
  /** Why no task of this tenant may start; any may by default. */
  stopOf?: (tenant: string) => StopReason | undefined;
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
  const { otlpUrl: url } = config;
  // Loaded only where there is a collector.
  const tracing =
    url === undefined
      ? undefined
      : closers.own((await import('./observability/opentelemetry.js')).openTracing({ url, logger }));
  const work = openRuntime({ config: atStart, logger, env, closers, ...(stopOf ? { stopOf } : {}) });
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
  logEngineFallback(engine, logger);
  const store = createKeyStore(database.access());
  const signing = await openSigning(config);
  const keys = closers.own(createKeyVerifier({ store, cacheSize: config.keyCache, ...logKeyOutage(logger) }));
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

/** Tells at the start that images are worked on by Jimp where sharp was wanted. */
function logEngineFallback({ fallbackReason }: WorkerReport, logger: Logger): void {
  if (fallbackReason === undefined) return;
  logger.warn({ reason: fallbackReason }, 'sharp cannot be loaded; images are worked on by Jimp, slower');
}
