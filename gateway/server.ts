import { performance } from 'node:perf_hooks';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from 'pino';
import type { WorkerReport } from '../pool/task.js';
import { createApp } from './app.js';
import type { Closers } from './closers.js';
import type { Config } from './config.js';
import { type DevMode, openCore } from './core.js';
import { docRoutes } from './docs/routes.js';
import { loadKoaBody } from './http/body.js';
import { createOutboundBudget } from './http/outbound-budget.js';
import { isLoopbackHost } from './http/request.js';
import type { Front, Lifecycle } from './http/server.js';
import { openJobs } from './jobs/open-jobs.js';
import { createFirstTenant, type FirstKey, firstTenant } from './keys/key-changes.js';
import { limitsByDefault } from './limits/limiter.js';
import { createMetrics } from './observability/metrics.js';
import { createReadiness } from './pipeline/health.js';
import { createReportError, reportPublicly } from './pipeline/respond.js';
import { loadForFirstCalls } from './pipeline/warm-up.js';
import type { Environment, Registry } from './plugins/registry.js';
import type { Credentials } from './site/accounts/first-operator.js';
import { type StartedSite, startSite } from './site/start-site.js';
import { type Member, shareChanges, shareMetrics } from './supervisor/member.js';

/** A gateway that serves. */
export interface Gateway {
  /** Where the API listens. */
  url: string;
  /** Where the key-management site listens. */
  connectUrl: string;
  registry: Registry;
  engine: WorkerReport;
  /** The first tenant's key, where this start created it. It is not stored, so it must be shown now. */
  firstKey: FirstKey | undefined;
  /** The tenant that a first start makes, where there is one of that name. */
  demoTenant: string | undefined;
  /** The first operator’s sign-in to the site, likewise. */
  firstOperator: Credentials | undefined;
  /**
   * Serves on for `HELPER_DRAIN_MS`, but `/readyz` is 503 and answers end their connections: a balancer has then noticed, and
   * loses no call when the gateway closes.
   */
  drain(): Promise<void>;
  /** Finishes the calls that have begun. Another process serves all others from now on, on the same connections too. */
  leave(): Promise<void>;
  /** Accepts no more calls, finishes the running ones, frees everything. */
  close(): Promise<void>;
}

export interface GatewayOptions {
  /** Where plugins' own configuration is set. */
  env?: Environment;
  /** Faulty plugins do not stop the start then, and callers on this host get faults in full. */
  dev?: DevMode | undefined;
  /** This process's place where several of this host serve on the same ports. */
  member?: Member | undefined;
}

/** The servers of a gateway. */
export interface Fronts {
  api: Front;
  /** Absent where another process of this host serves the site. */
  site: Front | undefined;
}

export interface ComposeOptions extends GatewayOptions {
  config: Config;
  logger: Logger;
  closers: Closers;
  lifecycle: Lifecycle;
  fronts: Fronts;
}

/** Builds every part from the configuration and opens the servers for calls. */
export async function compose({
  config,
  logger,
  closers,
  lifecycle,
  fronts,
  env = process.env,
  dev,
  member,
}: ComposeOptions): Promise<Gateway> {
  const started = performance.now();
  const outboundBudget = closers.own(
    createOutboundBudget({ bytes: config.outputBytes, onRoom: (tenant) => core.work.pool.look(tenant) }),
  );
  const counts = member?.counts(config.processes, logger);
  const [core] = await Promise.all([
    openCore({
      config,
      logger,
      closers,
      env,
      dev,
      mayLoad: member?.mayLoad,
      stopOf: outboundBudget.backlog,
      counts,
    }),
    // Loaded while the first thread starts, because the first upload would wait for it.
    loadKoaBody(),
  ]);
  const { work, registry, engine, database, store, signing, keys, usage, limiter, reuse } = core;
  const { pool } = work;
  const jobs = await openJobs({ ...core, config, logger, closers, works: config.jobs === 'on' });
  const metrics = shareMetrics(
    createMetrics({ ...work, outboundBudget, keysAvailable: keys.available, readJobs: jobs.stats }),
    member,
  );
  closers.add(shareChanges(store, keys, member));

  let isStarting = true;
  // Known once the site listens, which it does after the API.
  let siteUrl = member?.siteUrl;
  const keySite = (host: string) => config.connectUrl ?? (isLoopbackHost(host) ? siteUrl : undefined);
  const app = createApp({
    ...work,
    registry,
    docs: docRoutes({ registry, config, keySite, problems: dev && (() => dev.problems) }),
    isPublic: config.docs === 'on',
    keys,
    signing,
    limiter,
    limits: limitsByDefault(config),
    processes: member ? config.processes : 1,
    outboundBudget,
    reportError: dev
      ? createReportError(config.pluginDirs, { problems: () => dev.problems, apiUrl: config.apiUrl })
      : reportPublicly,
    observers: { logger, metrics, usage, tracing: core.tracing },
    ...jobs,
    maxJobBytes: config.maxJobBytes,
    reuse,
    corsOrigins: config.corsOrigins,
    knownAs: config,
    readiness: createReadiness({ phase: lifecycle.phase, isStarting: () => isStarting, engine, keys, pool }),
    phase: lifecycle.phase,
  });
  closers.add(() => fronts.api.close(config.taskTimeoutMs + config.sourceTimeoutMs));
  const url = await fronts.api.listen();
  fronts.api.open(app.callback());
  const openSite = (front: Front) =>
    startSite({
      front,
      config,
      logger,
      closers,
      database,
      store,
      signing,
      usage,
      jobs: jobs.jobs,
      outboundBudget,
      metrics,
      registry,
      pool,
      engine,
      keysAvailable: keys.available,
      apiUrl: url,
    });
  const site = fronts.site ? await openSite(fronts.site) : served(siteUrl);
  siteUrl = site.url;
  // Not earlier: the key is shown once, and a start that failed would lose it.
  const firstKey = await createFirstTenant(store);
  const demoTenant = (await store.tenant(firstTenant))?.name;
  logger.debug({ url, ms: Math.round(performance.now() - started) }, 'listening');
  // While an older process serves, the jobs are its own.
  void (member?.begun ?? Promise.resolve()).then(() => {
    if (lifecycle.phase() === 'open') jobs.start(metrics);
  });
  isStarting = false;
  closers.own(loadForFirstCalls({ ...work, registry, logger }));

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
      // Other processes get its jobs meanwhile.
      jobs.stop().catch(() => undefined);
      await sleep(config.drainMs);
    },
    async leave() {
      lifecycle.enter('draining');
      jobs.stop().catch(() => undefined);
      const returned = member?.leave();
      const graceMs = config.taskTimeoutMs + config.sourceTimeoutMs;
      await Promise.all([returned, fronts.api.finish(graceMs), fronts.site?.finish(graceMs)]);
      await member?.leaveCounts();
    },
    async close() {
      lifecycle.enter('closing');
      // While calls end. A failure is reported when it is closed.
      jobs.stop().catch(() => undefined);
      await closers.close();
    },
  };
}

/** The site, where another process of this host serves it. */
function served(url = ''): StartedSite {
  return { url, firstOperator: undefined };
}
