import cors from '@koa/cors';
import Router from '@koa/router';
import Koa from 'koa';
import type { ImageLimits } from '../pool/image/engine.js';
import type { Pool } from '../pool/pool.js';
import type { Arrivals } from './flow/arrivals.js';
import type { Departures } from './flow/departures.js';
import type { MultipartLimits } from './http/multipart.js';
import type { KeyVerifier } from './keys/verifier.js';
import type { Phase } from './lifecycle.js';
import type { Limiter } from './limits/limiter.js';
import type { TenantLimits } from './limits/tenant-limits.js';
import { admit } from './pipeline/admit.js';
import { authenticate } from './pipeline/authenticate.js';
import { fetchSource } from './pipeline/fetch-source.js';
import { alive, type Readiness, ready, refuseWhenClosing } from './pipeline/health.js';
import { limit } from './pipeline/limit.js';
import { type Observers, observe } from './pipeline/observe.js';
import { readInput } from './pipeline/read-input.js';
import { respond } from './pipeline/respond.js';
import { pathsOf, refuse, route } from './pipeline/route.js';
import { type RunOptions, runHelper } from './pipeline/run-helper.js';
import type { CallState, Stage } from './pipeline/state.js';
import { validate } from './pipeline/validate.js';
import type { Registry } from './registry.js';
import type { Source } from './source/fetch.js';

export interface AppParts {
  registry: Registry;
  keys: Pick<KeyVerifier, 'verify'>;
  source: Source;
  pool: Pool;
  limiter: Limiter;
  /** What a tenant may use for which nothing else is set. */
  limits: TenantLimits;
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
  const router = new Router<CallState>({ sensitive: true, strict: true });
  router.get('/healthz', alive());
  router.get('/readyz', ready(parts.readiness));
  for (const helper of parts.registry.values()) {
    const stages: Stage[] = [
      route(helper),
      authenticate(parts.keys),
      limit(parts.limiter, parts.limits),
      admit(parts.pool),
      readInput(parts.arrivals, parts.bodyLimits),
      validate(),
      fetchSource(parts.source, parts.arrivals, parts.imageLimits),
      runHelper(parts.inline),
    ];
    router.register(pathsOf(helper.id), ['GET', 'POST'], stages, { name: helper.id });
  }

  const app = new Koa<CallState>();
  app.use(observe(parts.observers));
  app.use(respond(parts.departures));
  if (parts.corsOrigins.length > 0) app.use(allowOrigins(parts.corsOrigins));
  app.use(refuseWhenClosing(parts.phase));
  app.use(router.routes());
  app.use(refuse(parts.registry));
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
