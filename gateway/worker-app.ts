import Router from '@koa/router';
import Koa from 'koa';
import type { Logger } from 'pino';
import type { Departures } from './http/flow/departures.js';
import type { Metrics } from './metrics/metrics.js';
import { alive, type Readiness, ready } from './pipeline/health.js';
import { observe } from './pipeline/observe.js';
import { respond } from './pipeline/respond.js';
import type { CallState } from './pipeline/state.js';
import { tellNoMore } from './pipeline/tell-fault.js';
import { authorize } from './site/api/authorize.js';
import type { UsageMeter } from './usage/meter.js';

export interface WorkerAppParts {
  /** Undefined once the worker is to end. */
  readiness: () => Readiness | undefined;
  /** Whether everybody may know which helpers there are. */
  isPublic: boolean;
  metrics: Metrics;
  usage: Pick<UsageMeter, 'record'>;
  departures: Departures;
  /** Opens the metrics; nobody sees them without one. */
  operatorToken: string | undefined;
  logger: Logger;
}

/** What a worker answers to those who watch it: `/healthz`, `/readyz` and, to the operator, `/metrics`. */
export function createWorkerApp(parts: WorkerAppParts): Koa<CallState> {
  const { readiness, isPublic, metrics, usage, departures, operatorToken, logger } = parts;
  const router = new Router<CallState>({ sensitive: true, strict: true });
  router.get('/healthz', alive());
  router.get(
    '/readyz',
    ready(readiness, () => isPublic),
  );
  router.get('/metrics', authorize(operatorToken), async function serveMetrics(ctx) {
    const { type, body } = await metrics.text();
    ctx.type = type;
    ctx.body = body;
  });
  const app = new Koa<CallState>();
  app.use(observe({ logger, metrics, usage }));
  app.use(respond(departures, tellNoMore));
  app.use(router.routes());
  app.on('error', (error) => logger.warn({ err: error }, 'answer not sent'));
  return app;
}
