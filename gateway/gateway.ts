import { performance } from 'node:perf_hooks';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from 'pino';
import type { WorkerReport } from '../pool/task.js';
import { loadColorNames } from '../schemas/vocabulary/color/names.js';
import { createApp } from './app.js';
import { Closers } from './closers.js';
import type { Config } from './config.js';
import { createBatchWriter, pruneWriters } from './database/batch-writer.js';
import { openDatabase } from './database/open-database.js';
import { pruneDaily } from './database/prune-daily.js';
import { createHelperPool } from './helpers/helper-pool.js';
import { loadHelpers } from './helpers/load-helpers.js';
import { builtinPlugins } from './helpers/package-paths.js';
import type { Registry } from './helpers/registry.js';
import { largestUpload } from './http/body/multipart.js';
import { createArrivals } from './http/flow/arrivals.js';
import { createDepartures } from './http/flow/departures.js';
import { closeServer } from './http/server/close-server.js';
import { createLifecycle } from './http/server/lifecycle.js';
import { listen } from './http/server/listen.js';
import { createHttpServer } from './http/server/server.js';
import { createFirstTenant, type FirstKey, firstTenant } from './keys/first-start.js';
import { createKeyStore } from './keys/sql-store.js';
import { createKeyVerifier } from './keys/verifier.js';
import { createLimiter } from './limits/limiter.js';
import { pruneQuotas } from './limits/quota-store.js';
import { createMetrics } from './metrics.js';
import { migrations } from './migrations.js';
import { createReadiness } from './pipeline/health.js';
import { warmUp } from './pipeline/warm-up.js';
import type { Credentials } from './site/accounts/first-operator.js';
import { startSite } from './site/start-site.js';
import { createSource } from './source/fetch.js';
import { createUsageMeter } from './usage/meter.js';
import { pruneUsage } from './usage/retention.js';

/** A gateway that serves. */
export interface Gateway {
  /** Where the API listens. */
  url: string;
  /** Where the key-management site listens. */
  connectUrl: string;
  registry: Registry;
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
  /** Takes no more calls, finishes those under way, frees everything. */
  close(): Promise<void>;
}

/**
 * The one composition root: builds every part from the configuration and starts it. Throws, with everything closed
 * again, where a part cannot start; the message says what to change.
 */
export async function startGateway(config: Config, logger: Logger): Promise<Gateway> {
  const closers = new Closers();
  try {
    return await compose(config, logger, closers);
  } catch (error) {
    await closers.close();
    throw error;
  }
}

async function compose(config: Config, logger: Logger, closers: Closers): Promise<Gateway> {
  const started = performance.now();
  loadColorNames();
  const folders = [builtinPlugins, ...config.pluginDirs];
  const imageLimits = { maxPixels: config.maxPixels, maxFrames: config.maxFrames };
  const bodyLimits = { maxTextBytes: config.maxTextBytes, maxFileBytes: config.maxImageBytes };
  // An answer grows with its text: escaped, and in a diff said twice.
  const maxJsonBytes = 4 * config.maxTextBytes;
  const arrivals = closers.own(
    createArrivals({
      most: config.arriving,
      bytes: config.inputBytes,
      largest: largestUpload(bodyLimits),
    }),
  );
  const departures = closers.own(
    createDepartures({ bytes: config.outputBytes, onRoom: (tenant) => pool.look(tenant) }),
  );
  const loading = loadHelpers({ folders, fonts: config.fonts, logger });
  const pool = closers.own(
    createHelperPool({
      config,
      folders,
      loading,
      imageLimits,
      maxJsonBytes,
      stopOf: departures.backlog,
      logger,
    }),
  );
  const inline = { timeoutMs: config.taskTimeoutMs, maxJsonBytes, logger };
  const [registry, engine, database] = await Promise.all([
    loading,
    pool.start(),
    openDatabase(config, {
      migrations,
      create: true,
      ownThread: true,
      onConnectionLost: (error) => logger.debug({ err: error }, 'database connection lost'),
    }).then((opened) => closers.own(opened)),
    loading.then((registry) => warmUp(registry, inline)),
  ]);
  if (engine.fallbackReason !== undefined) {
    logger.warn(
      { reason: engine.fallbackReason },
      'sharp cannot be loaded; images are worked on by Jimp, slower',
    );
  }
  const store = createKeyStore(database.access());
  const keys = closers.own(
    createKeyVerifier({
      store,
      cacheSize: config.keyCache,
      onDown: (error) =>
        logger.error({ err: error }, 'key database does not answer; keys seen lately go on working'),
      onUp: () => logger.info('key database answers again'),
    }),
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
  const metrics = createMetrics({ pool, arrivals, departures, keysAvailable: keys.available });
  const source = closers.own(
    createSource({
      origins: config.sourceOrigins,
      timeoutMs: config.sourceTimeoutMs,
      maxBytes: config.maxImageBytes,
    }),
  );

  const lifecycle = createLifecycle();
  const app = createApp({
    registry,
    keys,
    source,
    pool,
    limiter,
    limits: {
      rate: config.rate,
      burst: config.burst,
      monthlyQuota: config.monthlyQuota ?? null,
      inFlight: config.inFlight ?? null,
    },
    arrivals,
    departures,
    observers: { logger, metrics, usage },
    bodyLimits,
    imageLimits,
    inline,
    corsOrigins: config.corsOrigins,
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
    usage,
    metrics,
    registry,
    pool,
    engine,
    keysAvailable: keys.available,
    apiUrl: url,
  });
  // Only now that nothing can stop the start any more: the key is shown once.
  const firstKey = await createFirstTenant(store);
  const demoTenant = (await store.tenant(firstTenant))?.name;
  logger.debug({ url, ms: Math.round(performance.now() - started) }, 'listening');

  return {
    url,
    connectUrl: site.url,
    registry,
    engine,
    firstKey,
    demoTenant,
    firstOperator: site.firstOperator,
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
