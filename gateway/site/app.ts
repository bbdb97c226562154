import Router from '@koa/router';
import Koa from 'koa';
import { answerUnrouted } from '../http/unrouted.js';
import { authorize } from './api/authorize.js';
import { handle } from './api/handle.js';
import { openApiDocument } from './api/openapi.js';
import { apiRoutes } from './api/routes.js';
import { assetRoute, serveAsset } from './assets.js';
import type { SiteOptions } from './options.js';
import { pageRoutes } from './pages/routes.js';
import { createSite, type Site } from './site.js';
import { issueFormToken } from './stages/form-guard.js';
import { observe } from './stages/observe.js';
import { checkHost, protect } from './stages/protect.js';
import { refuseUnread, respond } from './stages/respond.js';
import { serve } from './stages/serve.js';
import { findVisitor } from './stages/visitor.js';
import type { SiteContext, SiteStage, SiteState } from './state.js';

/**
 * The key-management site as a Koa application: pages for people, a JSON API and metrics for programs. It shares the
 * stores with the API and nothing else.
 */
export async function createSiteApp(options: SiteOptions): Promise<Koa<SiteState>> {
  const site = await createSite(options);
  const router = new Router<SiteState>({ sensitive: true, strict: true });
  addPages(router, site);
  addApi(router, site);

  const app = new Koa<SiteState>();
  app.proxy = (options.proxies ?? 0) > 0;
  app.maxIpsCount = options.proxies ?? 0;
  app.use(observe(options.logger));
  app.use(respond(site));
  app.use(protect(options.baseUrl));
  app.use(checkHost(options.baseUrl));
  // Before any route, so that the page of an error knows its visitor too, and the API refuses on every path of its own.
  app.use(forPages(findVisitor(site.signIn, site.people)));
  app.use(forPages(issueFormToken(site)));
  app.use(forApi(authorize(options.operatorToken)));
  app.use(refuseUnread(site));
  app.use(router.routes());
  app.use(async function refuse(ctx) {
    answerUnrouted(ctx as SiteContext);
  });
  app.on('error', (error) => options.logger.warn({ err: error }, 'answer not sent'));
  return app;
}

function addPages(router: Router<SiteState>, site: Site): void {
  router.get('/assets/:version/:name', noteRoute(assetRoute), serveAsset());
  for (const route of pageRoutes) {
    router.register(route.path, [route.method], [noteRoute(route.path), serve(route, site)]);
  }
}

function addApi(router: Router<SiteState>, site: Site): void {
  const { inputs } = site.admin;
  const routes = apiRoutes(inputs);
  for (const route of routes) {
    router.register(route.path, [route.method], [noteRoute(route.path), handle(route, site)]);
  }
  const document = openApiDocument(routes, site.baseUrl, inputs.knownScopes());
  router.get('/api/openapi.json', noteRoute('/api/openapi.json'), async function openApi(ctx) {
    ctx.type = 'application/json; charset=utf-8';
    ctx.body = JSON.stringify(document);
  });
  const { metrics } = site;
  if (!metrics) return;
  router.get('/metrics', noteRoute('/metrics'), async function serveMetrics(ctx) {
    const { type, body } = await metrics();
    ctx.type = type;
    ctx.body = body;
  });
}

function noteRoute(path: string): SiteStage {
  return async function noteRoute(ctx, next) {
    ctx.state.route = path;
    await next();
  };
}

function forPages(stage: SiteStage): SiteStage {
  return (ctx, next) =>
    ctx.state.answers === 'pages' && !ctx.path.startsWith('/assets/') ? stage(ctx, next) : next();
}

function forApi(stage: SiteStage): SiteStage {
  return (ctx, next) =>
    ctx.state.answers === 'json' && ctx.method !== 'OPTIONS' ? stage(ctx, next) : next();
}
