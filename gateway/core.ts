import type { Logger } from 'pino';
import type { Closers } from './closers.js';
import type { Config } from './config.js';
import { createBatchWriter, pruneWriters } from './database/batch-writer.js';
import { openDatabase } from './database/open-database.js';
import { pruneDaily } from './database/prune-daily.js';
import type { OutboundBudget } from './http/outbound-budget.js';
import type { Lifecycle } from './http/server.js';
import { type JobTuning, openJobs } from './jobs/open-jobs.js';
import { createKeyStore } from './keys/store.js';
import { createKeyVerifier, logKeyOutage } from './keys/verifier.js';
import { pruneQuotas } from './limits/counters.js';
import { createLimiter } from './limits/limiter.js';
import { migrations } from './migrations.js';
import { pruneNotices } from './notices/store.js';
import { createMetrics } from './observability/metrics.js';
import { openReuse } from './pipeline/reuse.js';
import { loadForFirstCalls, warmUp } from './pipeline/warm-up.js';
import type { PluginProblem } from './plugins/discover.js';
import { type Environment, logCutLimits } from './plugins/registry.js';
import { createTenantHelpers } from './recipes/tenant-helpers.js';
import { createTenantRecipes } from './recipes/tenant-recipes.js';
import { openRuntime } from './runtime.js';
import { openSigning } from './signing/signing-secrets.js';
import type { SupervisorChannel } from './supervisor/channel.js';
import { createUsageMeter } from './usage/meter.js';
import { pruneRequests, requestLimits } from './usage/requests.js';
import { pruneUsage, repairRollup } from './usage/store.js';
import { openWebhooks } from './webhooks/sender.js';

/** For an author who waits for reloads. */
interface DevMode {
  /** Files that cannot be loaded, which are left out or served as before. */
  readonly problems: PluginProblem[];
  /** Called once everything that can be loaded is loaded. */
  onLoaded(): Promise<void>;
}

export interface CoreOptions {
  config: Config;
  logger: Logger;
  closers: Closers;
  lifecycle: Lifecycle;
  /** Where plugins' own configuration is set. */
  env?: Environment | undefined;
  dev?: DevMode | undefined;
  /** This process's place where several of this host serve on the same ports. */
  supervisor?: SupervisorChannel | undefined;
  /** Absent where no calls are answered. */
  outboundBudget?: OutboundBudget;
  /** Whether this process works on items of jobs. */
  works: boolean;
  tuning?: JobTuning | undefined;
}

/** Opens what a gateway and a worker have in common: helpers, their threads, the database, jobs and metrics. `closers` close it. */
export async function openCore(options: CoreOptions) {
  const { config, logger, closers, lifecycle, env = process.env, dev, supervisor, outboundBudget } = options;
  const { otlpUrl: url } = config;
  // Loaded only where there is a collector; without one calls are not traced.
  const tracing =
    url === undefined
      ? undefined
      : closers.own((await import('./observability/tracing.js')).openTracing({ url, logger }));
  const work = openRuntime({
    config,
    logger,
    env,
    closers,
    mayLoad: supervisor?.mayLoad,
    stopOf: outboundBudget?.backlog,
    onProblem: dev && ((problem) => void dev.problems.push(problem)),
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
      const outside = [...registry.values()].filter(({ shipped }) => !shipped);
      await warmUp(outside, inline);
    }),
  ]);
  logCutLimits(registry, config, logger);
  const { fallbackReason: reason } = engine;
  if (reason !== undefined)
    logger.warn({ reason }, 'sharp cannot be loaded; images are worked on by Jimp, slower');
  const store = createKeyStore(database.access());
  const signing = await openSigning(config);
  const keys = closers.own(createKeyVerifier({ store, cacheSize: config.keyCache, ...logKeyOutage(logger) }));
  const writer = closers.own(createBatchWriter({ access: database.access(), logger }));
  const { redisUrl, redisOutageShare: outageShare, usageDays } = config;
  const requests = requestLimits(config);
  const usage = closers.own(createUsageMeter({ access: database.access(), writer, logger, requests }));
  const counts = supervisor?.counts(config.processes, logger);
  const limiter = closers.own(
    await createLimiter({ access: database.access(), writer, logger, redisUrl, outageShare, counts }),
  );
  const ofUsage = [...pruneUsage(usageDays), repairRollup, pruneRequests(requests)];
  const parts = [...ofUsage, pruneQuotas(usageDays), pruneNotices(usageDays), pruneWriters];
  closers.own(pruneDaily({ access: database.access(), logger, parts }));
  const reuse = await openReuse(work, engine, config);
  const { compileRecipe } = await work.loaded;
  const recipes = closers.own(createTenantRecipes({ store, compile: compileRecipe, changes: keys.changes }));
  const helpers = createTenantHelpers(registry, recipes);
  const readJobs = async () => jobs.stats();
  const own = createMetrics({ ...work, outboundBudget, keysAvailable: keys.available, readJobs });
  const metrics = supervisor?.shareMetrics(own) ?? own;
  const webhooks = openWebhooks({
    ...{ config, closers, logger, access: database.access(), secrets: signing.webhooks },
    observe: metrics.observeWebhook,
  });
  const opened = {
    registry,
    compileRecipe,
    helpers,
    engine,
    database,
    store,
    signing,
    keys,
    usage,
    limiter,
    reuse,
    tracing,
    webhooks,
  };
  const jobs = await openJobs({ ...options, ...opened, work });
  if (supervisor) closers.add(supervisor.shareChanges(store, keys));

  /** Starts what waits until this process serves. */
  function begin(): void {
    // While an older process serves, the jobs are its own.
    void (supervisor?.begun ?? Promise.resolve()).then(() => {
      if (lifecycle.phase() === 'open') jobs.start(metrics);
    });
    closers.own(loadForFirstCalls({ ...work, registry, logger }));
  }

  return { ...opened, work, jobs, metrics, begin };
}
