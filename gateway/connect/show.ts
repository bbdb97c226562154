import { parseUrlencoded } from '../../schemas/input/urlencoded.js';
import { GatewayError } from '../errors.js';
import type { PageAnswer, PageRoute, Redirect } from './page.js';
import { renderDocument } from './pages/document.js';
import type { Site } from './site.js';
import type { SiteContext, SiteStage } from './state.js';

/** Runs a route and answers with its page, or leads on. */
export function show(route: PageRoute, site: Site): SiteStage {
  return async function show(ctx) {
    const mark = route.once ? await claim(ctx, site) : undefined;
    try {
      const query = parseUrlencoded(ctx.querystring);
      const answer = await route.run({
        site,
        visitor: ctx.state.visitor,
        tenant: ctx.state.tenant,
        params: ctx.params,
        query: query.values,
        search: ctx.querystring,
        form: ctx.state.form ?? new Map(),
        cookie: ctx.get('cookie'),
        address: ctx.ip,
      });
      // A form that was refused has done nothing, and comes again with another mark or with this one.
      if (mark !== undefined && 'status' in answer) await site.once.release(mark);
      sendAnswer(ctx, site, answer);
    } catch (error) {
      if (mark !== undefined) await site.once.release(mark).catch(() => undefined);
      throw error;
    }
  };
}

async function claim(ctx: SiteContext, { once }: Site): Promise<string> {
  const mark = ctx.state.form?.get('_once') ?? '';
  if (mark !== '' && (await once.claim(mark))) return mark;
  throw new GatewayError('exists', {
    message:
      'This form was sent before, and what it showed is shown once only. Nothing was done now. If the key or link was not copied, make a new one.',
  });
}

/** Sends a page, or the way to another. */
export function sendAnswer(ctx: SiteContext, site: Site, answer: PageAnswer | Redirect): void {
  if (answer.cookies) ctx.append('set-cookie', answer.cookies);
  if ('redirect' in answer) {
    ctx.redirect(answer.redirect);
    ctx.status = 303;
    return;
  }
  const { visitor, formToken } = ctx.state;
  const view = { visitor, formToken, path: ctx.path, mark: site.once.mark };
  if (answer.headers) ctx.set(answer.headers);
  ctx.status = answer.status ?? 200;
  ctx.type = 'text/html; charset=utf-8';
  ctx.body = renderDocument(view, answer.title, answer.body);
}
