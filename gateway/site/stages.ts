import { isIP } from 'node:net';
import type { Logger } from 'pino';
import { isValidElement } from 'preact';
import { parseUrlencoded, tryUrl } from '../../schemas/input/parse.js';
import { GatewayError } from '../errors.js';
import { envelopeType, failure, plainMeta, prepareErrorAnswer } from '../http/envelope.js';
import { anonymous, requireOutboundBudget, sendBody } from '../http/outbound-budget.js';
import { followRequest, isLoopbackHost, loggedMs, withoutBrackets } from '../http/request.js';
import { assetRoute } from './assets.js';
import { requireOperatorToken } from './authorize.js';
import { readGuardedForm, refuseOtherSites } from './form-guard.js';
import {
  type Answer,
  type Download,
  emptyForm,
  type PageAnswer,
  type PageCall,
  type PageRoute,
  type Redirect,
  setUpPath,
} from './page.js';
import { errorPage, renderPage } from './pages/document.js';
import type { Site } from './site.js';
import type { SiteContext, SiteStage } from './state.js';

/** Writes a log line when the answer is out, with the route's pattern: a path may hold an invitation's token. */
export function observe(logger: Logger): SiteStage {
  return async function observe(ctx, next) {
    const requestId = followRequest(ctx, ({ status, ms }) => {
      const { route, visitor, tenant, code, fault } = ctx.state;
      const line = {
        request_id: requestId,
        method: ctx.method,
        route,
        status,
        code,
        user: visitor?.user.id,
        tenant,
        ms: loggedMs(ms),
        err: fault,
      };
      if (fault !== undefined) logger.error(line, 'site request failed');
      // A page brings several of them along.
      else if (route === assetRoute) logger.debug(line, 'site request');
      else logger.info(line, 'site request');
    });
    const answers = /^\/(api|metrics)(\/|$)/.test(ctx.path) ? 'json' : 'pages';
    ctx.state = { requestId, answers, visitor: undefined, formToken: '', route: 'none' };
    await next();
  };
}

/** The one place where a failure is answered, as page or JSON; its cause goes to the log alone. */
export function respond(site: Site): SiteStage {
  return async function respond(ctx, next) {
    try {
      await next();
      if (ctx.status === 404 && ctx.body == null) throw new GatewayError('not_found');
    } catch (thrown) {
      const error = prepareErrorAnswer(ctx, thrown);
      if (ctx.state.answers === 'json') sendFailure(ctx, error);
      else sendAnswer(ctx, site, errorPage(error, ctx.state.requestId));
    }
    const { body, state } = ctx;
    if (typeof body !== 'string' && !Buffer.isBuffer(body)) return;
    sendBody(ctx, body, {
      outboundBudget: site.outbound,
      requester: requesterOf(ctx),
      shared: state.sharedBody,
    });
  };
}

/** Refuses a page or a document while this visitor leaves too many answers unread. */
export function refuseUnread({ outbound }: Pick<Site, 'outbound'>): SiteStage {
  return (ctx, next) => {
    requireOutboundBudget(outbound, requesterOf(ctx));
    return next();
  };
}

/** The JSON API and the metrics are the operator's, unless their token is missing. */
function requesterOf({ state }: SiteContext): string {
  if (state.visitor) return `visitor ${state.visitor.user.id}`;
  return state.answers === 'json' && state.code !== 'unauthorized' ? 'operator' : anonymous;
}

function sendFailure(ctx: SiteContext, error: GatewayError): void {
  ctx.status = error.status;
  if (error.status === 401) ctx.set('www-authenticate', 'Bearer realm="helper-gateway keys"');
  ctx.type = envelopeType;
  ctx.body = JSON.stringify(failure(error, plainMeta(ctx.state.requestId)));
}

/** A page may load and send to nothing but the site, and show pictures of one other origin. */
function contentPolicy(picturesOf?: string): string {
  return [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    `img-src 'self' data:${picturesOf === undefined ? '' : ` ${picturesOf}`}`,
    "form-action 'self'",
    "frame-ancestors 'none'",
    "base-uri 'none'",
  ].join('; ');
}

/** The headers that keep other sites and injected markup off these pages. No cache may store these pages. */
export function protect(baseUrl: string): SiteStage {
  const { protocol, hostname } = new URL(baseUrl);
  const overHttps = protocol === 'https:' && !isLoopbackHost(hostname);
  return async function protect(ctx, next) {
    ctx.set({
      'content-security-policy': contentPolicy(),
      'x-content-type-options': 'nosniff',
      'x-frame-options': 'DENY',
      'referrer-policy': 'no-referrer',
      'cross-origin-opener-policy': 'same-origin',
      'cross-origin-resource-policy': 'same-origin',
      'permissions-policy': 'camera=(), geolocation=(), microphone=()',
      'cache-control': 'no-store',
    });
    if (overHttps) ctx.set('strict-transport-security', 'max-age=31536000');
    await next();
  };
}

/**
 * Refuses other host names, as a stranger's could resolve to this host (DNS rebinding) and count as this site in the
 * browser. An address cannot be rebound. The JSON API is open under any name, as long as it takes no cookie.
 */
export function checkHost(baseUrl: string): SiteStage {
  return async function checkHost(ctx, next) {
    if (ctx.state.answers !== 'json') requireOwnHost(ctx, baseUrl);
    return next();
  };
}

function requireOwnHost(ctx: SiteContext, baseUrl: string): void {
  const name = hostOf(ctx.get('host')) ?? '';
  const own = new URL(baseUrl).hostname;
  if (name !== own && !isLoopbackHost(name) && isIP(withoutBrackets(name)) === 0) {
    throw new GatewayError('forbidden', {
      message:
        'This site is not served under this host name. Its operator sets the right one in HELPER_CONNECT_URL.',
    });
  }
}

function hostOf(header: string): string | undefined {
  if (!/^[\w.:[\]-]+$/.test(header)) return undefined;
  return tryUrl(`http://${header}`)?.hostname;
}

/** Finds the visitor by the session's cookie. Rights are read each time: a person who was removed has none at once. */
export function findVisitor({
  signIn,
  people,
  secondFactor,
}: Pick<Site, 'signIn' | 'people' | 'secondFactor'>): SiteStage {
  return async function findVisitor(ctx, next) {
    const found = await signIn.session(ctx.get('cookie'));
    if (found) {
      ctx.append('set-cookie', found.cookies);
      const rights = await people.rights(found.session.user.id);
      const needed = secondFactor === 'all' || (secondFactor === 'operators' && rights.role !== null);
      ctx.state.visitor = { ...found.session, ...rights, mustSetUp: needed && !found.session.secondFactor };
    }
    await next();
  };
}

/**
 * Lets tokens pass, and for paths of operations for members their session too. It needs no form token: no form of another
 * site can send PUT or DELETE, no script gets leave to (there is no CORS), and both say where they come from.
 */
export function authorizeApi(site: Site, isForMembers: (path: string) => boolean): SiteStage {
  const authorize = requireOperatorToken(site.operatorToken, site.tokens);
  const enter = findVisitor(site);
  return async function authorizeApi(ctx, next) {
    if (ctx.get('authorization') === '' && isForMembers(ctx.path)) {
      await enter(ctx, async () => undefined);
      if (ctx.state.visitor) {
        requireOwnHost(ctx, site.baseUrl);
        refuseOtherSites(ctx, site.baseUrl);
        if (ctx.state.visitor.mustSetUp) throw mustSetUp();
        return next();
      }
    }
    ctx.state.program = await authorize(ctx);
    return next();
  };
}

function mustSetUp(): GatewayError {
  return new GatewayError('forbidden', { message: 'Set up a second factor first, under Account.' });
}

/** Checks the visitor of a route or sends them to sign in, runs the route and sends its answer. */
export function serve(route: PageRoute, site: Site): SiteStage {
  return async function serve(ctx) {
    const { visitor } = ctx.state;
    if (!visitor && route.access !== 'anyone' && ctx.method !== 'POST') {
      sendAnswer(ctx, site, { redirect: `/sign-in?next=${encodeURIComponent(ctx.url)}` });
      return;
    }
    if (visitor?.mustSetUp && ![setUpPath, '/sign-out'].includes(route.path)) {
      if (ctx.method === 'POST') throw mustSetUp();
      sendAnswer(ctx, site, { redirect: setUpPath });
      return;
    }
    const call = await route.enter({
      site,
      visitor,
      params: ctx.params,
      query: parseUrlencoded(ctx.querystring).values,
      path: ctx.path,
      search: ctx.querystring,
      form: new Map(),
      cookie: ctx.get('cookie'),
      address: ctx.ip,
      agent: ctx.get('user-agent'),
      mayChange: true,
    });
    ctx.state.tenant = ctx.params.tenant;
    if (ctx.method === 'POST') call.form = await readGuardedForm(ctx, site);
    sendAnswer(ctx, site, await (route.once ? runOnce(route, call) : route.run(call)), call.mayChange);
  };
}

/** Runs a form's work when it is first sent. A form that was refused has done nothing, and may be sent again. */
async function runOnce(route: PageRoute, call: PageCall): Promise<Answer> {
  const { formMarks } = call.site;
  const mark = call.form.get('_once') ?? '';
  if (mark === '' || !(await formMarks.claim(mark))) {
    throw new GatewayError('exists', {
      message:
        'This form was sent before, and what it showed is shown once only. Nothing was done now. If the key or link was not copied, make a new one.',
    });
  }
  try {
    const answer = await route.run(call);
    if ('status' in answer) await formMarks.release(mark);
    return answer;
  } catch (error) {
    await formMarks.release(mark).catch(() => undefined);
    throw error;
  }
}

/** Sends rows to be saved as a file. */
export function sendCsv(ctx: SiteContext, { name, text }: Download['csv']): void {
  ctx.set('content-disposition', `attachment; filename="${name}.csv"`);
  ctx.type = 'text/csv; charset=utf-8';
  ctx.body = text;
}

/** Sends a page, a file or a redirect. */
function sendAnswer(
  ctx: SiteContext,
  site: Pick<Site, 'formMarks' | 'now'>,
  given: Answer,
  mayChange = true,
): void {
  const answer: PageAnswer | Redirect | Download = isValidElement(given) ? { page: given } : given;
  if ('csv' in answer) {
    sendCsv(ctx, answer.csv);
    return;
  }
  if (answer.cookies) ctx.append('set-cookie', answer.cookies);
  if ('redirect' in answer) {
    ctx.redirect(answer.redirect);
    ctx.status = 303;
    return;
  }
  const { visitor, formToken } = ctx.state;
  const { form = emptyForm } = answer;
  const { path, querystring: search } = ctx;
  const request = { visitor, formToken, path, search, mayChange };
  const view = { ...request, form, now: site.now(), mark: site.formMarks.mark };
  if (answer.headers) ctx.set(answer.headers);
  if (answer.picturesOf) ctx.set('content-security-policy', contentPolicy(answer.picturesOf));
  ctx.status = answer.status ?? 200;
  ctx.type = 'text/html; charset=utf-8';
  ctx.body = renderPage(view, answer.page);
}
