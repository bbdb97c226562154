import type { PageAnswer, Redirect } from '../page.js';
import { renderDocument } from '../pages/document.js';
import type { Site } from '../site.js';
import type { SiteContext } from '../state.js';
import { policy } from './protect.js';

/** Sends a page, or the way to another. */
export function sendAnswer(ctx: SiteContext, site: Pick<Site, 'once'>, answer: PageAnswer | Redirect): void {
  if (answer.cookies) ctx.append('set-cookie', answer.cookies);
  if ('redirect' in answer) {
    ctx.redirect(answer.redirect);
    ctx.status = 303;
    return;
  }
  const { visitor, formToken } = ctx.state;
  const view = { visitor, formToken, path: ctx.path, mark: site.once.mark };
  if (answer.headers) ctx.set(answer.headers);
  if (answer.picturesOf) ctx.set('content-security-policy', policy(answer.picturesOf));
  ctx.status = answer.status ?? 200;
  ctx.type = 'text/html; charset=utf-8';
  ctx.body = renderDocument(view, answer.title, answer.body);
}
