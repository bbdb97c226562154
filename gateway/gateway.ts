import { performance } from 'node:perf_hooks';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from 'pino';
import type { WorkerReport } from '../pool/task.js';
import { createApp } from './app.js';
import { Closers } from './closers.js';
import type { Config } from './config.js';
import { createBatchWriter, pruneWriters } from './database/batch-writer.js';
import { openDatabase } from './database/open-database.js';
import { pruneDaily } from './database/prune-daily.js';
import { docRoutes } from './docs/routes.js';
import { tellCutDeadlines } from './helpers/cut-deadlines.js';
import type { Environment } from './helpers/helper-config.js';
import { createHelperReload, type DevMode } from './helpers/helper-reload.js';
import { HelperShelf, type LiveRegistry } from './helpers/live-registry.js';
import { tellFallback } from './helpers/tell-fallback.js';
import { createDepartures } from './http/flow/departures.js';
import { isLoopbackHost } from './http/loopback.js';
import { closeServer } from './http/server/close-server.js';
import { createLifecycle } from './http/server/lifecycle.js';
import { listen } from './http/server/listen.js';
import { createHttpServer } from './http/server/server.js';
import { createFirstTenant, type FirstKey, firstTenant } from './keys/first-start.js';
import { createKeyStore } from './keys/sql-store.js';
import { tellKeyOutage } from './keys/tell-outage.js';
import { createKeyVerifier } from './keys/verifier.js';
import { createLimiter } from './limits/limiter.js';
import { pruneQuotas } from './limits/quota-store.js';
import { limitsByDefault } from './limits/tenant-limits.js';
import { openWork } from './local/work.js';
import { createMetrics } from './metrics.js';
import { migrations } from './migrations.js';
import { loadForFirstCalls } from './pipeline/first-calls.js';
import { createReadiness } from './pipeline/health.js';
import { openReuse } from './pipeline/open-reuse.js';
import { faultTeller, tellNoMore } from './pipeline/tell-fault.js';
import { warmUp } from './pipeline/warm-up.js';
import { openSigning } from './signing/open-signing.js';
import type { Credentials } from './site/accounts/first-operator.js';
import { startSite } from './site/start-site.js';
import { createUsageMeter } from './usage/meter.js';
import { pruneUsage } from './usage/retention.js';

/** A gateway that serves. */
export interface Gateway {
  /** Where the API listens. */
  url: string;
  /** Where the key-management site listens. */
  connectUrl: string;
  registry: LiveRegistry;
  engine: WorkerReport;
  /** The first tenant's key, where this start created it: to be shown now, it is kept nowhere. */
  firstKey: FirstKey | undefined;
  /** The tenant that a first start makes, where there is one of that name. */
  demoTenant: string | undefined;
  /** The first operator’s sign-in to the site, shown likewise. */
  firstOperator: Credentials | undefined;
  /**
   * Serves on for `HELPER_DRAIN_MS`, but `/readyz` is 503 and answers end their connections: a balancer has then noticed, and
   * loses no call when the gateway closes.
   */
  drain(): Promise<void>;
  /**
   * Loads the helpers of the configuration's folders anew while calls go on: those that a change of these files concerns, or all.
   * Never rejects: what cannot be loaded is told, and goes on as it was.
   */
  reload(changed?: Iterable<string>): Promise<void>;
  /** Takes no more calls, finishes those under way, frees everything. */
  close(): Promise<void>;
}

export interface GatewayOptions {
  /** Where plugins' own configuration is set. */
  env?: Environment;
  /** A plugin that cannot be loaded stops no start then, and callers on this host are told of faults. */
  dev?: DevMode | undefined;
}

/**
 * The one composition root: builds every part from the configuration and starts it. Throws, with everything closed
 * again, where a part cannot start; the message says what to change.
 */
export async function startGateway(
  config: Config,
  logger: Logger,
  options: GatewayOptions = {},
): Promise<Gateway> {
  const closers = new Closers();
  try {
    return await compose(config, logger, options, closers);
  } catch (error) {
    await closers.close();
    throw error;
  }
}

async function compose(
  config: Config,
  logger: Logger,
  { env = process.env, dev }: GatewayOptions,
  closers: Closers,
): Promise<Gateway> {
  const started = performance.now();
  const departures = closers.own(
    createDepartures({ bytes: config.outputBytes, onRoom: (tenant) => pool.look(tenant) }),
  );
  // In dev the author's helpers are loaded as any later version of them will be.
  const atStart = dev ? { ...config, pluginDirs: [] } : config;
  const work = openWork({ config: atStart, logger, env, closers, stopOf: departures.backlog });
  const { loading, pool, inline } = work;
  const [loaded, engine, database] = await Promise.all([
    loading,
    pool.start(),
    openDatabase(config, {
      migrations,
      create: true,
      ownThread: true,
      onConnectionLost: (error) => logger.debug({ err: error }, 'database connection lost'),
    }).then((opened) => closers.own(opened)),
    loading.then(async (registry) => {
      tellCutDeadlines(registry, config.taskTimeoutMs, logger);
      await Promise.all([...registry.values()].map(inline.helpers.prepare));
      await warmUp(registry, inline);
    }),
  ]);
  for (const helper of loaded.values()) helper.group = pool.first;
  const registry = new HelperShelf(loaded);
  const live = { config, env, shelf: registry, pool, engine, logger, dev };
  const reloader = closers.own(createHelperReload(live));
  if (dev) await reloader.reload();
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
    await createLimiter({ access: database.access(), writer, logger, redisUrl, outageShare }),
  );
  closers.own(
    pruneDaily({
      access: database.access(),
      logger,
      parts: [pruneUsage(usageDays), pruneQuotas(usageDays), pruneWriters],
    }),
  );
  const metrics = createMetrics({ ...work, departures, keysAvailable: keys.available });

  const lifecycle = createLifecycle();
  // Known once the site listens, which it does after the API.
  let siteUrl: string | undefined;
  const keySite = (host: string) => config.connectUrl ?? (isLoopbackHost(host) ? siteUrl : undefined);
  const app = createApp({
    ...work,
    registry,
    docs: docRoutes({ registry, config, keySite, isDev: dev !== undefined }),
    keys,
    signing,
    limiter,
    limits: limitsByDefault(config),
    departures,
    tellFaults: dev ? faultTeller(config.pluginDirs, () => registry.problems()) : tellNoMore,
    observers: { logger, metrics, usage },
    reuse: await openReuse(work, engine, config),
    corsOrigins: config.corsOrigins,
    knownAs: config,
    readiness: createReadiness({ phase: lifecycle.phase, engine, keys, pool }),
    phase: lifecycle.phase,
  });
  const server = createHttpServer(lifecycle, app.callback());
  closers.add(() => closeServer(server, config.taskTimeoutMs + config.sourceTimeoutMs));
  const url = await listen(server, { host: config.host, port: config.port, variable: 'PORT' });
  const site = await startSite({
    config,
    logger,
    closers,
    lifecycle,
    database,
    store,
    signing,
    usage,
    metrics,
    registry,
    pool,
    engine,
    keysAvailable: keys.available,
    apiUrl: url,
  });
  siteUrl = site.url;
  // Only now that nothing can stop the start any more: the key is shown once.
  const firstKey = await createFirstTenant(store);
  const demoTenant = (await store.tenant(firstTenant))?.name;
  logger.debug({ url, ms: Math.round(performance.now() - started) }, 'listening');
  void loadForFirstCalls({ pool, logger });

  return {
    url,
    connectUrl: site.url,
    registry,
    engine,
    firstKey,
    demoTenant,
    firstOperator: site.firstOperator,
    reload: reloader.reload,
    async drain() {
      lifecycle.enter('draining');
      await sleep(config.drainMs);
    },
    async close() {
      lifecycle.enter('closing');
      await closers.close();
    },
  };
}
