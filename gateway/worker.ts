import { performance } from 'node:perf_hooks';
import Router from '@koa/router';
import Koa from 'koa';
import type { Logger } from 'pino';
import type { WorkerReport } from '../pool/task.js';
import { type Closers, openTogether } from './closers.js';
import type { Config } from './config.js';
import { openCore } from './core.js';
import { createOutboundBudget, type OutboundBudget } from './http/outbound-budget.js';
import { closeServer, createHttpServer, createLifecycle, type Lifecycle, listen } from './http/server.js';
import { type JobTuning, openJobs } from './jobs/open-jobs.js';
import { createMetrics, type Metrics } from './observability/metrics.js';
import { alive, createReadiness, type Readiness, ready } from './pipeline/health.js';
import { observe } from './pipeline/observe.js';
import { reportPublicly, respond } from './pipeline/respond.js';
import type { CallState } from './pipeline/stage.js';
import { loadForFirstCalls } from './pipeline/warm-up.js';
import type { Environment, Registry } from './plugins/registry.js';
import { requireOperatorToken } from './site/authorize.js';
import { type Member, shareChanges, shareMetrics } from './supervisor/member.js';
import type { UsageMeter } from './usage/meter.js';

export interface WorkerAppParts {
  /** Undefined once the worker is to end. */
  readiness: () => Readiness | undefined;
  /** Whether the helpers are public. */
  isPublic: boolean;
  metrics: Metrics;
  usage: Pick<UsageMeter, 'record'>;
  outboundBudget: OutboundBudget;
  /** Needed for the metrics; without one they are closed. */
  operatorToken: string | undefined;
  logger: Logger;
}

/** A worker's `/healthz`, `/readyz` and, for the operator, `/metrics`. */
export function createWorkerApp(parts: WorkerAppParts): Koa<CallState> {
  const { readiness, isPublic, metrics, usage, outboundBudget, operatorToken, logger } = parts;
  const router = new Router<CallState>({ sensitive: true, strict: true });
  router.get('/healthz', alive());
  router.get(
    '/readyz',
    ready(readiness, () => isPublic),
  );
  router.get('/metrics', requireOperatorToken(operatorToken), async function serveMetrics(ctx) {
    const { type, body } = await metrics.text();
    ctx.type = type;
    ctx.body = body;
  });
  const app = new Koa<CallState>();
  app.use(observe({ logger, metrics, usage }));
  app.use(respond(outboundBudget, reportPublicly));
  app.use(router.routes());
  app.on('error', (error) => logger.warn({ err: error }, 'answer not sent'));
  return app;
}

/** A process that works on jobs and serves no calls. */
export interface Worker {
  /** Where it serves health and metrics; undefined without a port for them. */
  url: string | undefined;
  registry: Registry;
  engine: WorkerReport;
  /** Accepts no more jobs and hands back what has not begun. */
  drain(): Promise<void>;
  /** The same, where another process replaces this one. */
  leave(): Promise<void>;
  /** Accepts no more jobs, finishes what runs, hands the rest back, frees everything. */
  close(): Promise<void>;
}

export interface WorkerOptions {
  /** Where plugins' own configuration is set. */
  env?: Environment;
  /** This process's place among several of this host. */
  member?: Member | undefined;
  /** For tests. */
  jobs?: JobTuning;
}

/**
 * Builds a worker from the configuration of the gateways whose jobs it works on, and starts it. Throws, with everything closed again,
 * where a part cannot start; the message says what to change.
 */
export async function startWorker(
  config: Config,
  logger: Logger,
  options: WorkerOptions = {},
): Promise<Worker> {
  return openTogether((closers) => compose(config, logger, options, closers));
}

async function compose(
  config: Config,
  logger: Logger,
  { env = process.env, member, jobs: tuning }: WorkerOptions,
  closers: Closers,
): Promise<Worker> {
  const started = performance.now();
  const counts = member?.counts(config.processes, logger);
  const core = await openCore({ config, logger, closers, env, mayLoad: member?.mayLoad, counts });
  const { work, registry, engine, store, keys } = core;
  const jobs = await openJobs({ ...core, config, logger, closers, works: true, tuning });
  const metrics = shareMetrics(
    createMetrics({ ...work, keysAvailable: keys.available, readJobs: jobs.stats }),
    member,
  );
  closers.add(shareChanges(store, keys, member));
  const lifecycle = createLifecycle();
  const url = await serveWatchers({ config, logger, closers, lifecycle, core, metrics, member });
  logger.debug({ url, ms: Math.round(performance.now() - started) }, 'working');
  // While an older process serves, the jobs are its own.
  void (member?.begun ?? Promise.resolve()).then(() => {
    if (lifecycle.phase() === 'open') jobs.start(metrics);
  });
  closers.own(loadForFirstCalls({ ...work, registry, logger }));

  return {
    url,
    registry,
    engine,
    async drain() {
      lifecycle.enter('draining');
      await jobs.stop();
    },
    async leave() {
      lifecycle.enter('draining');
      await member?.leave();
      await jobs.stop();
      await member?.leaveCounts();
    },
    async close() {
      lifecycle.enter('closing');
      await closers.close();
    },
  };
}

interface Watched {
  config: Config;
  logger: Logger;
  closers: Closers;
  lifecycle: Lifecycle;
  core: Awaited<ReturnType<typeof openCore>>;
  metrics: Metrics;
  member: Member | undefined;
}

/** Serves health and metrics, if a port is set for them. */
async function serveWatchers(watched: Watched): Promise<string | undefined> {
  const { config, logger, closers, lifecycle, core, metrics, member } = watched;
  const { host, workPort: port, operatorToken, outputBytes } = config;
  if (port === undefined) return undefined;
  const { work, engine, keys, usage } = core;
  const outboundBudget = closers.own(createOutboundBudget({ bytes: outputBytes, onRoom: () => undefined }));
  const readiness = createReadiness({ phase: lifecycle.phase, engine, keys, pool: work.pool });
  const app = createWorkerApp({
    readiness,
    isPublic: config.docs === 'on',
    metrics,
    usage,
    outboundBudget,
    operatorToken,
    logger,
  });
  const server = createHttpServer(lifecycle, app.callback());
  closers.add(() => closeServer(server, 5_000));
  const inlets = member?.door('work');
  if (inlets) closers.add(() => inlets.close());
  return listen(server, { host, port, variable: 'HELPER_WORK_PORT', inlets });
}
