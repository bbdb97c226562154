import Router from '@koa/router';
import Koa from 'koa';
import { answerUnrouted } from '../answer-unrouted.js';
import { authorize } from './api/authorize.js';
import { handle } from './api/handle.js';
import { openApiDocument } from './api/openapi.js';
import { apiRoutes } from './api/routes.js';
import { serveAsset } from './assets.js';
import { enter } from './enter.js';
import { checkForm, issueFormToken } from './form-guard.js';
import { observe } from './observe.js';
import { pageRoutes } from './page-routes.js';
import type { ConnectParts } from './parts.js';
import { checkHost, protect } from './protect.js';
import { respond } from './respond.js';
import { show } from './show.js';
import { createSite, type Site } from './site.js';
import type { SiteContext, SiteStage, SiteState } from './state.js';
import { findVisitor } from './visitor.js';

/**
 * The key-management site as a Koa application: pages for people, a JSON API and metrics for programs. It shares the
 * stores with the API and nothing else.
 */
export async function createConnectApp(parts: ConnectParts): Promise<Koa<SiteState>> {
  const site = await createSite(parts);
  const router = new Router<SiteState>({ sensitive: true, strict: true });
  addPages(router, site);
  addApi(router, site);

  const app = new Koa<SiteState>();
  app.proxy = (parts.proxies ?? 0) > 0;
  app.maxIpsCount = parts.proxies ?? 0;
  app.use(observe(parts.logger));
  app.use(respond(site));
  app.use(protect(parts.baseUrl));
  app.use(checkHost(parts.baseUrl));
  // Before any route, so that the page of an error knows its visitor too, and the API refuses on every path of its own.
  app.use(forPages(findVisitor(site.signIn, site.people)));
  app.use(forPages(issueFormToken(site)));
  app.use(forApi(authorize(parts.operatorToken)));
  app.use(router.routes());
  app.use(async function refuse(ctx) {
    answerUnrouted(ctx as SiteContext);
  });
  app.on('error', (error) => parts.logger.warn({ err: error }, 'answer not sent'));
  return app;
}

function addPages(router: Router<SiteState>, site: Site): void {
  router.get('/assets/:version/:name', noteRoute('/assets'), serveAsset());
  for (const route of pageRoutes) {
    const { method, path, access } = route;
    const stages = [noteRoute(path), enter(access, site.store), checkForm(site), show(route, site)];
    router.register(path, [method], stages);
  }
}

function addApi(router: Router<SiteState>, site: Site): void {
  const routes = apiRoutes(site);
  for (const route of routes) {
    router.register(route.path, [route.method], [noteRoute(route.path), handle(route, site)]);
  }
  const document = openApiDocument(routes, site.baseUrl);
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
