import { performance } from 'node:perf_hooks';
import Router from '@koa/router';
import Koa from 'koa';
import type { Logger } from 'pino';
import { openTogether } from './closers.js';
import type { Config } from './config.js';
import { type CoreOptions, openCore } from './core.js';
import { createOutboundBudget } from './http/outbound-budget.js';
import { closeServer, createHttpServer, createLifecycle, listen } from './http/server.js';
import { alive, createReadiness, ready } from './pipeline/health.js';
import { observe } from './pipeline/observe.js';
import { reportPublicly, respond } from './pipeline/respond.js';
import type { CallState } from './pipeline/stage.js';
import { createTokens } from './site/accounts/tokens.js';
import { requireOperatorToken } from './site/authorize.js';

/** A process that works on jobs and serves no calls. */
export type Worker = Awaited<ReturnType<typeof compose>>;

/** `tuning` is for tests. */
type WorkerOptions = Pick<CoreOptions, 'env' | 'supervisor' | 'tuning'>;

/** Builds and starts a worker. Throws, all closed again, where a part cannot start; the message says what to change. */
export function startWorker(config: Config, logger: Logger, options: WorkerOptions = {}): Promise<Worker> {
  const lifecycle = createLifecycle();
  return openTogether((closers) => compose({ config, logger, closers, lifecycle, works: true, ...options }));
}

async function compose(options: CoreOptions) {
  const { logger, closers, lifecycle, supervisor } = options;
  const started = performance.now();
  const core = await openCore(options);
  const { registry, engine, jobs } = core;
  const url = await serveWatchers(options, core);
  logger.debug({ url, ms: Math.round(performance.now() - started) }, 'working');
  core.begin();

  return {
    /** Where it serves health and metrics; undefined without a port for them. */
    url,
    registry,
    engine,
    /** Accepts no more jobs and hands back what has not begun. */
    async drain(): Promise<void> {
      lifecycle.enter('draining');
      await jobs.stop();
    },
    /** The same, where another process replaces this one. */
    async leave(): Promise<void> {
      lifecycle.enter('draining');
      await supervisor?.returnConnections();
      await jobs.stop();
      await supervisor?.sendLastMetrics();
    },
    /** Accepts no more jobs, finishes what runs, hands the rest back, frees everything. */
    async close(): Promise<void> {
      lifecycle.enter('closing');
      await closers.close();
    },
  };
}

/** Serves `/healthz`, `/readyz` and, for the operator, `/metrics`, if a port is set for them. */
async function serveWatchers(
  { config, logger, closers, lifecycle, supervisor }: CoreOptions,
  { database, work, engine, keys, usage, metrics }: Awaited<ReturnType<typeof openCore>>,
): Promise<string | undefined> {
  const { host, workPort: port, operatorToken, outputBytes } = config;
  if (port === undefined) return undefined;
  const readiness = createReadiness({ phase: lifecycle.phase, engine, keys, pool: work.pool });
  const router = new Router<CallState>({ sensitive: true, strict: true });
  router.get('/healthz', alive());
  router.get(
    '/readyz',
    ready(readiness, () => config.docs === 'on'),
  );
  const authorize = requireOperatorToken(operatorToken, createTokens(database.access()));
  router.get('/metrics', async function serveMetrics(ctx) {
    await authorize(ctx);
    const { type, body } = await metrics.text();
    ctx.type = type;
    ctx.body = body;
  });
  const outboundBudget = closers.own(createOutboundBudget({ bytes: outputBytes, onRoom: () => undefined }));
  const app = new Koa<CallState>();
  app.use(observe({ logger, metrics, usage }));
  app.use(respond(outboundBudget, reportPublicly));
  app.use(router.routes());
  app.on('error', (error) => logger.warn({ err: error }, 'answer not sent'));
  const server = createHttpServer(lifecycle, app.callback());
  closers.add(() => closeServer(server, 5_000));
  const inlets = supervisor?.inlets('work');
  if (inlets) closers.add(() => inlets.close());
  return listen(server, { host, port, variable: 'HELPER_WORK_PORT', inlets });
}
