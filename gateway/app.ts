import cors from '@koa/cors';
import Router from '@koa/router';
import Koa from 'koa';
import type { ImageLimits } from '../pool/image/engine.js';
import type { Pool } from '../pool/pool.js';
import type { Registry } from './helpers/registry.js';
import type { MultipartLimits } from './http/body/multipart.js';
import type { Arrivals } from './http/flow/arrivals.js';
import type { Departures } from './http/flow/departures.js';
import type { Phase } from './http/server/lifecycle.js';
import type { KeyVerifier } from './keys/verifier.js';
import type { Limiter } from './limits/limiter.js';
import { createLimitsOf, type EffectiveLimits } from './limits/tenant-limits.js';
import { admit } from './pipeline/admit.js';
import { authenticate } from './pipeline/authenticate.js';
import { dispatch } from './pipeline/dispatch.js';
import { fetchSource } from './pipeline/fetch-source.js';
import { alive, type Readiness, ready, refuseWhenClosing } from './pipeline/health.js';
import { limit } from './pipeline/limit.js';
import { type Observers, observe } from './pipeline/observe.js';
import { readInput } from './pipeline/read-input.js';
import { respond } from './pipeline/respond.js';
import { pathsOf, route, unrouted } from './pipeline/route.js';
import { runHelper } from './pipeline/run-helper.js';
import type { RunOptions } from './pipeline/run-here.js';
import { from, type HttpCall } from './pipeline/stage.js';
import type { CallState } from './pipeline/state.js';
import { validate } from './pipeline/validate.js';
import type { Source } from './source/fetch.js';

export interface AppParts {
  registry: Registry;
  keys: Pick<KeyVerifier, 'verify'>;
  source: Source;
  pool: Pool;
  limiter: Limiter;
  /** What a tenant may use for which nothing else is set. */
  limits: EffectiveLimits;
  /** Bodies and downloads on their way. */
  arrivals: Arrivals;
  /** Answers until they are taken. */
  departures: Departures;
  observers: Observers;
  bodyLimits: MultipartLimits;
  imageLimits: ImageLimits;
  inline: RunOptions;
  /** Origins whose pages may call the API, or `*`. */
  corsOrigins: readonly string[];
  /** Undefined once the gateway is to end. */
  readiness: () => Readiness | undefined;
  phase: () => Phase;
}

/** The API as a Koa application: a call's way through the gateway, one line a stage. */
export function createApp(parts: AppParts): Koa<CallState> {
  const limitsOf = createLimitsOf(parts.limits);
  const router = new Router<CallState>({ sensitive: true, strict: true });
  router.get('/healthz', alive());
  router.get('/readyz', ready(parts.readiness));
  for (const helper of parts.registry.values()) {
    const answer = from<HttpCall>()
      .through(authenticate(parts.keys))
      .through(limit(helper, parts.limiter, limitsOf))
      .through(admit(parts.pool))
      .through(readInput(helper, parts.arrivals, parts.bodyLimits))
      .through(validate(helper))
      .through(fetchSource(helper, parts.source, parts.arrivals, parts.imageLimits))
      .to(runHelper(helper, parts.inline));
    router.register(pathsOf(helper.id), ['GET', 'POST'], route(helper, answer), { name: helper.id });
  }

  const app = new Koa<CallState>();
  app.use(observe(parts.observers));
  app.use(respond(parts.departures));
  if (parts.corsOrigins.length > 0) app.use(allowOrigins(parts.corsOrigins));
  app.use(refuseWhenClosing(parts.phase));
  app.use(dispatch(router));
  app.use(unrouted(parts.registry));
  app.on('error', (error) => {
    // The client went away while it was sent: the call's own line says so.
    if (error.code === 'ERR_STREAM_PREMATURE_CLOSE') return;
    parts.observers.logger.warn({ err: error }, 'answer not sent');
  });
  return app;
}

/** CORS for the configured origins; without any, a browser keeps other sites' pages away from the API. */
function allowOrigins(origins: readonly string[]): Koa.Middleware<CallState> {
  const any = origins.includes('*');
  return cors({
    origin: (ctx) => (any ? '*' : origins.includes(ctx.get('origin')) ? ctx.get('origin') : ''),
    allowMethods: 'GET,HEAD,POST',
    allowHeaders: 'authorization,content-type',
    exposeHeaders: 'x-request-id,retry-after,ratelimit,ratelimit-policy',
    maxAge: 86400,
    // What respond() answers errors with comes later; the headers have to be there already.
    keepHeadersOnError: true,
  });
}
