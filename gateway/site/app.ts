import Router from '@koa/router';
import Koa from 'koa';
import { boundProblems } from '../../schemas/field-problem.js';
import { parseUrlencoded, type ReadResult, readJsonObject } from '../../schemas/input/parse.js';
import { GatewayError, inputError } from '../errors.js';
import { envelopeType, plainMeta, success } from '../http/envelope.js';
import { answerUnrouted } from '../http/unrouted.js';
import { toCsv } from '../usage/csv.js';
import { actorOf } from './accounts/account.js';
import { apiRoutes, openApiDocument } from './api/document.js';
import type { ApiRoute } from './api/route.js';
import { assetRoute, serveAsset } from './assets.js';
import { issueFormToken, readText } from './form-guard.js';
import { findTenantFor, type PageRoute } from './page.js';
import { accountPages } from './pages/account.js';
import { auditPages } from './pages/audit.js';
import { jobsPages } from './pages/jobs.js';
import { keyPages } from './pages/key.js';
import { keysPages } from './pages/keys.js';
import { memberPages } from './pages/members.js';
import { noticePages } from './pages/notices.js';
import { overviewPages } from './pages/overview.js';
import { plansPages } from './pages/plans.js';
import { recipePages } from './pages/recipes.js';
import { requestPages } from './pages/requests.js';
import { searchPages } from './pages/search.js';
import { secondFactorPages } from './pages/second-factor.js';
import { settingsPages } from './pages/settings.js';
import { signInPages } from './pages/sign-in.js';
import { signedUrlPages } from './pages/signed-urls.js';
import { tenantPages } from './pages/tenant.js';
import { tenantsPages } from './pages/tenants.js';
import { tokenPages } from './pages/tokens.js';
import { usagePages } from './pages/usage.js';
import { webhookPages } from './pages/webhooks.js';
import { createSite, type Site, type SiteOptions } from './site.js';
import {
  authorizeApi,
  checkHost,
  findVisitor,
  observe,
  protect,
  refuseUnread,
  respond,
  sendCsv,
  serve,
} from './stages.js';
import type { SiteContext, SiteStage, SiteState } from './state.js';

/** Every page and form of the site, each with who may have it. A test walks this table for every role. */
export const pageRoutes: readonly PageRoute[] = [
  ...signInPages,
  ...accountPages,
  ...secondFactorPages,
  ...overviewPages,
  ...searchPages,
  ...tenantsPages,
  ...plansPages,
  ...tenantPages,
  ...settingsPages,
  ...keysPages,
  ...keyPages,
  ...signedUrlPages,
  ...recipePages,
  ...usagePages,
  ...requestPages,
  ...jobsPages,
  ...webhookPages,
  ...noticePages,
  ...memberPages,
  ...tokenPages,
  ...auditPages,
];

/** The site as a Koa application. It shares the stores with the API and nothing else. */
export async function createSiteApp(options: SiteOptions): Promise<Koa<SiteState>> {
  const site = await createSite(options);
  const router = new Router<SiteState>({ sensitive: true, strict: true });
  addPages(router, site);
  const routes = apiRoutes(site.admin.inputs);
  addApi(router, site, routes);

  const app = new Koa<SiteState>();
  app.proxy = (options.proxies ?? 0) > 0;
  app.maxIpsCount = options.proxies ?? 0;
  app.use(observe(options.logger));
  app.use(respond(site));
  app.use(protect(options.baseUrl));
  app.use(checkHost(options.baseUrl));
  // Before any route, so that the page of an error knows its visitor too, and the API refuses on every path of its own.
  app.use(forPages(findVisitor(site)));
  app.use(forPages(issueFormToken(site)));
  app.use(forApi(authorizeApi(site, pathsForMembers(routes))));
  app.use(refuseUnread(site));
  app.use(router.routes());
  app.use(async function refuse(ctx) {
    answerUnrouted(ctx as SiteContext);
  });
  app.on('error', (error) => options.logger.warn({ err: error }, 'answer not sent'));
  return app;
}

function addPages(router: Router<SiteState>, site: Site): void {
  router.get('/assets/:version/:name', noteRoute(assetRoute), serveAsset);
  for (const route of pageRoutes) {
    router.register(route.path, [route.method], [noteRoute(route.path), serve(route, site)]);
  }
}

function pathsForMembers(routes: readonly ApiRoute[]): (path: string) => boolean {
  const paths = routes.flatMap(({ forMembers, path }) => (forMembers ? path.replace(/:\w+/g, '[^/]+') : []));
  const pattern = new RegExp(`^(?:${paths.join('|')})$`);
  return (path) => pattern.test(path);
}

function addApi(router: Router<SiteState>, site: Site, routes: readonly ApiRoute[]): void {
  const { inputs } = site.admin;
  for (const route of routes) {
    router.register(route.path, [route.method], [noteRoute(route.path), serveOperation(route, site)]);
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
  return (ctx, next) => {
    ctx.state.route = path;
    return next();
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

/** Runs an operation: reads and checks all that was sent at once, and answers with the envelope. */
function serveOperation(route: ApiRoute, site: Site): SiteStage {
  const { nothing } = site.admin.inputs;
  const { query: parameters = nothing, body: fields = nothing, csv } = route;
  const changes = route.method !== 'GET' && !route.reads;
  return async function serveOperation(ctx) {
    const { visitor, program } = ctx.state;
    const { mayChange } = visitor
      ? await findTenantFor(visitor, ctx.params.name, site, changes)
      : { mayChange: program?.role === 'operator' };
    if (changes && !mayChange)
      throw new GatewayError('forbidden', { message: 'A support token may only read.' });
    const texts = parseUrlencoded(ctx.querystring);
    const format = csv && texts.values.get('format');
    const wantsCsv = csv && (format ?? ctx.accepts('json', 'text/csv')) !== 'json';
    if (format === 'json' || format === 'csv') texts.values.delete('format');
    const query = parameters.check(parameters.coerce(texts.values));
    const sent = await readJson(ctx);
    const body = 'value' in sent ? fields.check(sent.value) : { value: {}, problems: sent.problems };
    const problems = [...texts.problems, ...query.problems, ...body.problems];
    if (problems.length > 0) throw inputError(boundProblems(problems));
    const answer = { status: 200 };
    const data = await route.run({
      site,
      params: ctx.params,
      query: query.value,
      body: body.value,
      actor: visitor ? actorOf(visitor.user) : (program?.actor ?? ''),
      mayChange,
      answer,
    });
    ctx.status = answer.status;
    if (wantsCsv) {
      const rows = (data as Record<string, object[]>)[csv.list] ?? [];
      sendCsv(ctx, { name: csv.list, text: toCsv(csv.columns(query.value), rows) });
      return;
    }
    ctx.type = envelopeType;
    ctx.body = JSON.stringify(success(data, plainMeta(ctx.state.requestId)));
  };
}

async function readJson(ctx: SiteContext): Promise<ReadResult<Record<string, unknown>>> {
  if (ctx.method === 'GET' || ctx.method === 'HEAD') return { value: {} };
  const text = await readText(ctx, 'application/json');
  return text.trim() === '' ? { value: {} } : readJsonObject(text);
}
