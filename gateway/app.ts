import cors from '@koa/cors';
import Router from '@koa/router';
import Koa from 'koa';
import type { Answer } from '../pool/answer.js';
import type { DocRoute } from './docs/doc-route.js';
import { GatewayError } from './errors.js';
import type { InboundBudget } from './http/inbound-budget.js';
import type { MultipartLimits } from './http/multipart.js';
import { anonymous, type OutboundBudget, requireOutboundBudget } from './http/outbound-budget.js';
import type { Phase } from './http/server.js';
import { jobRoutes, jobsPath } from './jobs/api/routes.js';
import type { Jobs } from './jobs/jobs.js';
import { recipeId, scopeAllows, type TenantLimits } from './keys/model.js';
import type { KeyVerifier } from './keys/verifier.js';
import type { EffectiveLimits, Limiter } from './limits/limiter.js';
import {
  answerMessage,
  createHttpTools,
  type KnownAs,
  knownHost,
  limitProtocolCalls,
  readBody,
  toolsEndpoint,
  toolsPath,
} from './mcp/endpoint.js';
import { authenticate, authenticateSigned, callerIfAny } from './pipeline/authenticate.js';
import { alive, type Readiness, ready } from './pipeline/health.js';
import { limit, limitRate } from './pipeline/limit.js';
import { type Observers, observe } from './pipeline/observe.js';
import {
  type CallKind,
  createPipelines,
  type GivenCall,
  type Identified,
  type PipelineParts,
} from './pipeline/pipelines.js';
import { readInput, requireSize } from './pipeline/read-input.js';
import { type ReportError, respond } from './pipeline/respond.js';
import { refuseWhenClosing, route, unrouted } from './pipeline/route.js';
import { withPreview } from './pipeline/run-helper.js';
import {
  type CallContext,
  type CallMiddleware,
  type CallState,
  from,
  type HttpCall,
  type Stage,
} from './pipeline/stage.js';
import { pathsOf } from './plugins/paths.js';
import type { Helper, Registry } from './plugins/registry.js';
import type { TenantHelpers } from './recipes/tenant-helpers.js';
import type { SigningSecrets } from './signing/signing-secrets.js';
import type { Webhooks } from './webhooks/sender.js';

interface AppParts extends PipelineParts {
  registry: Registry;
  helpers: TenantHelpers;
  docs: readonly DocRoute[];
  /** Whether everybody may know the helpers. */
  isPublic: boolean;
  keys: Pick<KeyVerifier, 'verify' | 'verifySigned'>;
  signing: SigningSecrets;
  /** Processes of this host on the same ports. */
  processes: number;
  limiter: Limiter;
  limitsOf: (own: TenantLimits) => EffectiveLimits;
  inboundBudget: InboundBudget;
  outboundBudget: OutboundBudget;
  reportError: ReportError;
  observers: Omit<Observers, 'tracing'>;
  bodyLimits: MultipartLimits;
  jobs: Jobs;
  webhooks: Pick<Webhooks, 'check'>;
  maxJobBytes: number;
  /** Origins whose pages may call the API, or `*`. */
  corsOrigins: readonly string[];
  /** The host names by which agents may call the gateway. */
  knownAs: KnownAs;
  /** Undefined once the gateway is to end. */
  readiness: () => Readiness | undefined;
  phase: () => Phase;
}

/** The API as a Koa application. */
export function createApp(parts: AppParts): Koa<CallState> {
  const app = new Koa<CallState>();
  app.use(observe({ ...parts.observers, tracing: parts.tracing }));
  app.use(respond(parts.outboundBudget, parts.reportError));
  if (parts.corsOrigins.length > 0) app.use(allowOrigins(parts.corsOrigins));
  app.use(refuseWhenClosing(parts.phase));
  app.use(helperRouter(parts).routes());
  app.use(otherRouter(parts).routes());
  const others = [...parts.docs, { path: toolsPath }, { path: jobsPath }];
  app.use(unrouted(parts.registry, { ...parts, others }));
  app.on('error', (error) => {
    parts.observers.logger.warn({ err: error }, 'answer not sent');
  });
  return app;
}

const exactly = { sensitive: true, strict: true, exclusive: true };

/** The routes of the present helpers. They come first, for the router compares a request with each route that it has. */
function helperRouter(parts: AppParts): Router<CallState> {
  const router = new Router<CallState>(exactly);
  const { keys, limiter, limitsOf, inboundBudget, bodyLimits, processes } = parts;
  const kind: CallKind<HttpCall> = {
    limit: (helper) => limit(helper, limiter, limitsOf),
    admit: { processes },
    read: (helper) => readInput(helper, inboundBudget, bodyLimits),
  };
  const identify = authenticate(keys, authenticateSigned(keys, parts.signing));
  const pipelineOf = createPipelines(parts, { ...kind, identify: () => identify });
  for (const helper of parts.registry.values()) {
    const methods = helper.declaration.effects ? ['POST'] : ['GET', 'POST'];
    router.register(pathsOf(helper.id), methods, route(pipelineOf(helper), helper), { name: helper.id });
  }
  const recipePipelineOf = createPipelines<HttpCall & Identified>(parts, kind);
  const recipe = recipeRoute(parts, identify, recipePipelineOf);
  router.register(`/${recipeId(':recipe')}`, ['GET', 'POST'], recipe);
  return router;
}

/** Calls of the caller's own recipes: which there are is known once the caller is. */
function recipeRoute(
  { helpers, limiter, limitsOf, tracing }: AppParts,
  identify: Stage<HttpCall, Identified>,
  pipelineOf: (helper: Helper) => (call: HttpCall & Identified) => Promise<Answer>,
): CallMiddleware {
  const refuse = limitRate(limiter, limitsOf);
  return route(
    from<HttpCall>(tracing)
      .through(identify)
      .to(async function findRecipe(call) {
        const { ctx, state, caller } = call;
        const id = recipeId(ctx.params.recipe ?? '');
        // Whether there is one that the key may not call is not told.
        const isAllowed = scopeAllows(caller.scopes, id);
        const helper = isAllowed ? await helpers.find(caller.tenant.id, id) : undefined;
        if (helper) {
          state.helper = helper;
          return pipelineOf(helper)(call);
        }
        return refuse(call, () => {
          throw new GatewayError(isAllowed ? 'not_found' : 'scope_denied');
        });
      }),
  );
}

/** All other routes. */
function otherRouter(parts: AppParts): Router<CallState> {
  const router = new Router<CallState>(exactly);
  router.get('/healthz', alive());
  const mayKnow = async (ctx: CallContext) =>
    parts.isPublic || (await callerIfAny(ctx, parts.keys)) !== undefined;
  router.get('/readyz', ready(parts.readiness, mayKnow));
  router.all(toolsPath, toolsEndpoint(agentStages(parts)));
  for (const { path, method, handle } of jobRoutes(parts)) router.register(path, [method], handle);
  const withinOutboundBudget: CallMiddleware = (_, next) => {
    requireOutboundBudget(parts.outboundBudget, anonymous);
    return next();
  };
  for (const { path, handle } of parts.docs) {
    router.register(path, ['GET'], [withinOutboundBudget, handle]);
  }
  return router;
}

/** The stages of an agent's message, with the calls of helpers as tools. */
function agentStages(parts: AppParts): (call: HttpCall) => Promise<Answer> {
  const { limiter, limitsOf } = parts;
  const pipelineOf = createPipelines<GivenCall>(parts, {
    limit: (helper) => limit(helper, limiter, limitsOf),
    admit: { processes: parts.processes },
    read: () => requireSize(parts.bodyLimits),
    deliver: withPreview,
  });
  const toolsFor = createHttpTools(parts.helpers, pipelineOf, {
    apiUrl: parts.knownAs.apiUrl,
    reportError: parts.reportError,
  });
  return from<HttpCall>(parts.tracing)
    .through(knownHost(parts.knownAs))
    .through(authenticate(parts.keys))
    .through(readBody(parts.inboundBudget, parts.bodyLimits))
    .through(limitProtocolCalls(limitRate(limiter, limitsOf)))
    .to(answerMessage(toolsFor));
}

/** CORS for the configured origins; without any, a browser keeps other sites' pages away from the API. */
function allowOrigins(origins: readonly string[]): Koa.Middleware<CallState> {
  const any = origins.includes('*');
  return cors({
    origin: (ctx) => (any ? '*' : origins.includes(ctx.get('origin')) ? ctx.get('origin') : ''),
    allowMethods: 'GET,HEAD,POST,DELETE',
    allowHeaders:
      'authorization,content-type,idempotency-key,if-none-match,mcp-method,mcp-name,mcp-protocol-version',
    exposeHeaders:
      'x-request-id,retry-after,ratelimit,ratelimit-policy,etag,x-cache,x-cost-ms,location,idempotency-replayed',
    maxAge: 86400,
    // respond() answers errors later, and keeps headers that are set.
    keepHeadersOnError: true,
  });
}
