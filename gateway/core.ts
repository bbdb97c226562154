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
import { pruneQuotas, type SharedCounts } from './limits/counters.js';
import { createLimiter, type Limiter } from './limits/limiter.js';
import { migrations } from './migrations.js';
import type { Tracing } from './observability/tracing.js';
import { openReuse, type ReuseParts } from './pipeline/reuse.js';
import { warmUp } from './pipeline/warm-up.js';
import type { PluginProblem } from './plugins/discover.js';
import { type Environment, logCutLimits, type Registry } from './plugins/registry.js';
import { openRuntime, type Runtime } from './runtime.js';
import { openSigning, type SigningSecrets } from './signing/signing-secrets.js';
import { createUsageMeter, type UsageMeter } from './usage/meter.js';
import { pruneUsage } from './usage/store.js';

/** What a gateway and a worker have in common. */
interface Core {
  work: Runtime;
  registry: Registry;
  engine: WorkerReport;
  database: Database;
  store: KeyStore;
  signing: SigningSecrets;
  keys: KeyVerifier;
  writer: BatchWriter;
  usage: UsageMeter;
  limiter: Limiter;
  reuse: ReuseParts;
  /** Absent where calls are not traced. */
  tracing: Tracing | undefined;
}

/** For an author who waits for reloads. */
export interface DevMode {
  /** Files that cannot be loaded, which are left out or served as before. */
  readonly problems: PluginProblem[];
  /** Called once everything that can be loaded is loaded. */
  onLoaded(): Promise<void>;
}

interface CoreOptions {
  config: Config;
  logger: Logger;
  closers: Closers;
  /** Where plugins' own configuration is set. */
  env: Environment;
  dev?: DevMode | undefined;
  /** When plugins may be read; at once where absent. */
  mayLoad?: Promise<unknown> | undefined;
  /** Why no task of this tenant may start; any may by default. */
  stopOf?: (tenant: string) => StopReason | undefined;
  /** What several processes of this host count together. */
  counts?: SharedCounts | undefined;
}

/** Opens helpers, their threads and the database by the configuration. `closers` close what is opened. */
export async function openCore({
  config,
  logger,
  closers,
  env,
  dev,
  mayLoad,
  stopOf,
  counts,
}: CoreOptions): Promise<Core> {
  const { otlpUrl: url } = config;
  // Loaded only where there is a collector.
  const tracing =
    url === undefined
      ? undefined
      : closers.own((await import('./observability/opentelemetry.js')).openTracing({ url, logger }));
  const work = openRuntime({
    config,
    logger,
    env,
    closers,
    mayLoad,
    ...(stopOf ? { stopOf } : {}),
    ...(dev ? { onProblem: (problem) => void dev.problems.push(problem) } : {}),
  });
  const { loading, pool, inline } = work;
  const [registry, engine, database] = await Promise.all([
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
      await dev?.onLoaded();
      await Promise.all([...registry.values()].map(inline.helpers.prepare));
      // The package's own examples run when the gateway is ready: their faults would be ours, and should stop no start.
      await warmUp(
        [...registry.values()].filter(({ shipped }) => !shipped),
        inline,
      );
    }),
  ]);
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
  return {
    work,
    registry,
    engine,
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

/** Logs that Jimp works on images because sharp cannot be loaded. */
function logEngineFallback({ fallbackReason }: WorkerReport, logger: Logger): void {
  if (fallbackReason === undefined) return;
  logger.warn({ reason: fallbackReason }, 'sharp cannot be loaded; images are worked on by Jimp, slower');
}
