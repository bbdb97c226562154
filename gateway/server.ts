import { performance } from 'node:perf_hooks';
import { setTimeout as sleep } from 'node:timers/promises';
import { createApp } from './app.js';
import { type CoreOptions, openCore } from './core.js';
import { docRoutes } from './docs/routes.js';
import { loadKoaBody } from './http/body.js';
import { createOutboundBudget } from './http/outbound-budget.js';
import { isLoopbackHost } from './http/request.js';
import type { Front } from './http/server.js';
import { createFirstTenant, firstTenant } from './keys/admin.js';
import { createLimitsOf, limitsByDefault } from './limits/limiter.js';
import { openNotices } from './notices/watch.js';
import { createReadiness } from './pipeline/health.js';
import { createReportError, reportPublicly } from './pipeline/respond.js';
import { createRecipePreview } from './recipes/preview.js';
import { startSite } from './site/start-site.js';

export type GatewayOptions = Pick<CoreOptions, 'env' | 'dev' | 'supervisor'>;

interface ComposeOptions extends Omit<CoreOptions, 'outboundBudget' | 'works'> {
  /** The servers of a gateway; `site` is absent where another process of this host serves it. */
  fronts: { api: Front; site: Front | undefined };
}

/** A gateway that serves. */
export type Gateway = Awaited<ReturnType<typeof compose>>;

/** Builds every part from the configuration and opens the servers for calls. */
export async function compose({ fronts, ...options }: ComposeOptions) {
  const { config, logger, closers, lifecycle, dev, supervisor } = options;
  const started = performance.now();
  const outboundBudget = closers.own(
    createOutboundBudget({ bytes: config.outputBytes, onRoom: (tenant) => core.work.pool.look(tenant) }),
  );
  const [core] = await Promise.all([
    openCore({ ...options, outboundBudget, works: config.jobs === 'on' }),
    // Loaded while the first thread starts, because the first upload would wait for it.
    loadKoaBody(),
  ]);
  const { work, registry, engine, store, keys, usage, jobs, metrics } = core;
  const { pool } = work;

  let isStarting = true;
  // Known once the site listens, which it does after the API.
  let siteUrl = supervisor?.siteUrl;
  const keySite = (host: string) => config.connectUrl ?? (isLoopbackHost(host) ? siteUrl : undefined);
  const limitsOf = createLimitsOf(limitsByDefault(config));
  const app = createApp({
    ...core,
    ...work,
    ...jobs,
    docs: docRoutes({ registry, config, keySite, problems: dev && (() => dev.problems) }),
    isPublic: config.docs === 'on',
    limitsOf,
    processes: supervisor ? config.processes : 1,
    outboundBudget,
    reportError: dev
      ? createReportError(config.pluginDirs, { problems: () => dev.problems, apiUrl: config.apiUrl })
      : reportPublicly,
    observers: { logger, metrics, usage },
    maxJobBytes: config.maxJobBytes,
    corsOrigins: config.corsOrigins,
    knownAs: config,
    readiness: createReadiness({ phase: lifecycle.phase, isStarting: () => isStarting, engine, keys, pool }),
    phase: lifecycle.phase,
  });
  closers.add(() => fronts.api.close(config.taskTimeoutMs + config.sourceTimeoutMs));
  const url = await fronts.api.listen();
  fronts.api.open(app.callback());
  // Not in workers: they need not have the limits that hold for calls, nor HELPER_NOTICES_URL.
  const notices = closers.own(
    openNotices({
      ...{ config, logger, access: core.database.access(), secrets: core.signing.webhooks },
      wake: core.webhooks.wake,
    }),
  );
  const openSite = (front: Front) =>
    startSite({
      ...core,
      ...{ front, config, logger, closers, outboundBudget, pool, notices },
      jobs: jobs.jobs,
      preview: createRecipePreview({ ...core, ...work, limitsOf }),
      keysAvailable: keys.available,
      apiUrl: url,
    });
  // Another process of this host may serve it.
  const site = fronts.site ? await openSite(fronts.site) : { url: siteUrl ?? '', firstOperator: undefined };
  siteUrl = site.url;
  // Not earlier: the key is shown once, and a start that failed would lose it.
  const firstKey = await createFirstTenant(store);
  const demoTenant = (await store.tenant(firstTenant))?.name;
  logger.debug({ url, ms: Math.round(performance.now() - started) }, 'listening');
  isStarting = false;
  core.begin();
  void notices.start();

  return {
    /** Where the API listens. */
    url,
    /** Where the key-management site listens. */
    connectUrl: site.url,
    registry,
    engine,
    /** The first tenant's key, where this start created it. It is not stored, so it must be shown now. */
    firstKey,
    /** The tenant that a first start makes, where there is one of that name. */
    demoTenant,
    /** The first operator’s sign-in to the site, likewise. */
    firstOperator: site.firstOperator,
    /** Serves on for `HELPER_DRAIN_MS`, until balancers have noticed by `/readyz` and `Connection: close` that it ends. */
    async drain(): Promise<void> {
      lifecycle.enter('draining');
      // Other processes get its jobs meanwhile.
      jobs.stop().catch(() => undefined);
      await sleep(config.drainMs);
    },
    /** Finishes the calls that have begun. Another process serves all others from now on, on the same connections too. */
    async leave(): Promise<void> {
      lifecycle.enter('draining');
      jobs.stop().catch(() => undefined);
      const returned = supervisor?.returnConnections();
      const graceMs = config.taskTimeoutMs + config.sourceTimeoutMs;
      await Promise.all([returned, fronts.api.finish(graceMs), fronts.site?.finish(graceMs)]);
      await supervisor?.sendLastMetrics();
    },
    /** Accepts no more calls, finishes the running ones, frees everything. */
    async close(): Promise<void> {
      lifecycle.enter('closing');
      // While calls end. A failure is reported when it is closed.
      jobs.stop().catch(() => undefined);
      await closers.close();
    },
  };
}
