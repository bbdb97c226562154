import { performance } from 'node:perf_hooks';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from 'pino';
import { createFontSet } from '../pool/image/fonts.js';
import { createPool } from '../pool/pool.js';
import type { WorkerReport } from '../pool/task.js';
import { readThrown } from '../pool/thrown.js';
import { loadColorNames } from '../schemas/vocabulary/color/names.js';
import { createVocabulary } from '../schemas/vocabulary/vocabulary.js';
import { createApp } from './app.js';
import { Closers } from './closers.js';
import type { Config } from './config.js';
import type { Credentials } from './connect/auth/first-operator.js';
import { openDatabase } from './database/database.js';
import { createArrivals } from './flow/arrivals.js';
import { createDepartures } from './flow/departures.js';
import { largestUpload } from './http/multipart.js';
import { createFirstTenant, type FirstKey } from './keys/first-start.js';
import { createKeyStore } from './keys/sql-store.js';
import { createKeyVerifier } from './keys/verifier.js';
import { createLifecycle } from './lifecycle.js';
import { createLimiter } from './limits/limiter.js';
import { createMetrics } from './observe/metrics.js';
import type { Readiness } from './pipeline/health.js';
import { builtinPlugins, helperUrl, loadRegistry, poolPlugins, type Registry } from './registry.js';
import { closeServer, createHttpServer, listen } from './server.js';
import { createSource } from './source/fetch.js';
import { startSite } from './start-site.js';
import { createBatchWriter } from './usage/batch-writer.js';
import { createUsageMeter } from './usage/meter.js';

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
  /** The first operator's sign-in to the site, likewise. */
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
  const arrivals = createArrivals({
    most: config.arriving,
    bytes: config.inputBytes,
    largest: largestUpload(bodyLimits),
  });
  closers.add(() => arrivals.close());
  const departures = createDepartures({ bytes: config.outputBytes, onRoom: () => pool.look() });
  closers.add(() => departures.close());
  // An answer grows with its text: escaped, and in a diff said twice.
  const maxJsonBytes = 4 * config.maxTextBytes;
  const helperModule = helperUrl(folders);
  const onLate = (service: string, error: unknown) =>
    logger.error({ err: readThrown(error), service }, 'plugin failed after it was loaded');
  const loading = createFontSet(config.fonts).then((fonts) =>
    loadRegistry(folders, createVocabulary({ canDraw: (text) => fonts.missing(text) }), onLate),
  );
  const pool = createPool({
    threads: config.poolThreads,
    queue: config.poolQueue,
    worker: {
      plugins: loading.then(poolPlugins),
      engine: config.imageEngine,
      limits: imageLimits,
      fonts: config.fonts,
      taskTimeoutMs: config.taskTimeoutMs,
      maxJsonBytes,
      ...(helperModule ? { helperUrl: helperModule } : {}),
    },
    onFault: (error) => logger.error({ err: error }, 'worker thread failed'),
    mayStart: (tenant) => departures.mayStart(tenant),
  });
  closers.add(() => pool.close());
  const [registry, engine, database] = await Promise.all([
    loading,
    pool.start(),
    openDatabase(config, {
      onConnectionLost: (error) => logger.debug({ err: error }, 'database connection lost'),
    }).then((opened) => {
      closers.add(() => opened.close());
      return opened;
    }),
  ]);
  if (engine.fallbackReason !== undefined) {
    logger.warn(
      { reason: engine.fallbackReason },
      'sharp cannot be loaded; images are worked on by Jimp, slower',
    );
  }
  const store = createKeyStore(database);
  const keys = createKeyVerifier({
    store,
    onDown: (error) =>
      logger.error({ err: error }, 'key database does not answer; keys seen lately go on working'),
    onUp: () => logger.info('key database answers again'),
  });
  closers.add(() => keys.close());
  const writer = createBatchWriter({ db: database.db, logger });
  closers.add(() => writer.close());
  const usage = createUsageMeter({ db: database.db, writer, logger, retentionDays: config.usageDays });
  closers.add(() => usage.close());
  const limiter = await createLimiter({
    db: database.db,
    writer,
    logger,
    redisUrl: config.redisUrl,
    outageShare: config.redisOutageShare,
  });
  closers.add(() => limiter.close());
  const metrics = createMetrics({ pool, arrivals, departures, keysAvailable: () => keys.available() });
  const source = createSource({
    origins: config.sourceOrigins,
    timeoutMs: config.sourceTimeoutMs,
    maxBytes: config.maxImageBytes,
  });
  closers.add(() => source.close());

  const lifecycle = createLifecycle();
  const readiness = (): Readiness | undefined =>
    lifecycle.phase() === 'open'
      ? {
          ...engineOf(engine),
          keys: keys.available() ? 'available' : 'unavailable',
          threads: pool.stats().threads,
          missing: pool.missing(),
        }
      : undefined;
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
    inline: { timeoutMs: config.taskTimeoutMs, maxJsonBytes, logger },
    corsOrigins: config.corsOrigins,
    readiness,
    phase: lifecycle.phase,
  });
  const server = createHttpServer(lifecycle, app.callback());
  closers.add(() => closeServer(server, config.taskTimeoutMs + config.sourceTimeoutMs));
  const url = await listen(server, config.host, config.port);
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
    keysAvailable: () => keys.available(),
    apiUrl: url,
  });
  // Only now that nothing can stop the start any more: the key is shown once.
  const firstKey = await createFirstTenant(store);
  logger.debug({ url, ms: Math.round(performance.now() - started) }, 'listening');

  return {
    url,
    connectUrl: site.url,
    registry,
    engine,
    firstKey,
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

/** Anybody may ask: the loader's own words, which name folders of this host, are for the log. */
function engineOf({ engine, fallbackReason }: WorkerReport): Pick<Readiness, 'engine' | 'engine_fallback'> {
  if (fallbackReason === undefined) return { engine };
  return { engine, engine_fallback: 'sharp cannot be loaded here; the log says why' };
}
