import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import { parseUrlencoded } from '../../../schemas/input/urlencoded.js';
import { tryUrl } from '../../../schemas/try-url.js';
import { GatewayError, inputError } from '../../errors.js';
import { type SiteCookie, siteCookie } from '../cookie.js';
import type { SiteContext, SiteStage } from '../state.js';
import { readText } from './read-body.js';

const noncePattern = /^[\w-]{22}$/;

export interface FormGuardOptions {
  secret: string;
  secureCookies: boolean;
  baseUrl: string;
}

const stale =
  'This form is out of date, or the browser did not send its cookie. Go back, reload the page and send it again. Under any name but localhost the site needs https.';

/**
 * Gives the page the token that its forms have to carry: bound to a cookie of this browser and to the session. Before
 * signing in too, so that no stranger's page can sign somebody in to the stranger's account. Own code because Koa's packages
 * for it keep a session on the server.
 */
export function issueFormToken(options: FormGuardOptions): SiteStage {
  const { secureCookies } = options;
  return async function issueFormToken(ctx, next) {
    const sent = sentNonce(ctx, secureCookies);
    const nonce = sent ?? randomBytes(16).toString('base64url');
    if (!sent && ctx.method === 'GET') {
      ctx.append('set-cookie', formCookie(secureCookies).set(nonce));
    }
    ctx.state.formToken = createHmac('sha256', options.secret)
      .update(`form\n${nonce}\n${ctx.state.visitor?.id ?? ''}`)
      .digest('base64url');
    await next();
  };
}

/** Reads a form, if a page of this site, shown to this very browser and session, made it; otherwise it is refused. */
export async function readGuardedForm(
  ctx: SiteContext,
  { secureCookies, baseUrl }: Pick<FormGuardOptions, 'secureCookies' | 'baseUrl'>,
): Promise<Map<string, string>> {
  refuseOtherSites(ctx, new URL(baseUrl).host);
  const form = await readForm(ctx);
  const given = Buffer.from(form.get('_token') ?? '');
  const right = Buffer.from(ctx.state.formToken);
  const same = given.length === right.length && timingSafeEqual(given, right);
  if (!same || !sentNonce(ctx, secureCookies)) throw new GatewayError('forbidden', { message: stale });
  return form;
}

function formCookie(secure: boolean): SiteCookie {
  return siteCookie('hg_form', secure);
}

function sentNonce(ctx: SiteContext, secure: boolean): string | undefined {
  const nonce = ctx.cookies.get(formCookie(secure).name) ?? '';
  return noncePattern.test(nonce) ? nonce : undefined;
}

/** `Origin` is `null` in what a browser sends from these pages, because they send no referrer. */
function refuseOtherSites(ctx: SiteContext, own: string): void {
  const site = ctx.get('sec-fetch-site');
  const origin = ctx.get('origin');
  const foreign =
    (site !== '' && site !== 'same-origin' && site !== 'none') ||
    (origin !== '' && origin !== 'null' && !isOwn(origin, own, ctx.get('host')));
  if (foreign) throw new GatewayError('forbidden', { message: 'This form was sent by another site.' });
}

function isOwn(origin: string, ...hosts: string[]): boolean {
  const own = tryUrl(origin)?.host;
  return hosts.some((host) => own === host.toLowerCase());
}

async function readForm(ctx: SiteContext): Promise<Map<string, string>> {
  const { values, problems } = parseUrlencoded(await readText(ctx, 'application/x-www-form-urlencoded'));
  if (problems.length > 0) throw inputError(problems);
  return values;
}
