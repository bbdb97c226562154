import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import { parseUrlencoded } from '../../schemas/input/urlencoded.js';
import { GatewayError } from '../errors.js';
import { readText } from './read-body.js';
import type { SiteContext, SiteStage } from './state.js';

const NONCE = /^[\w-]{22}$/;

export interface FormGuardOptions {
  secret: string;
  secureCookies: boolean;
  baseUrl: string;
}

const STALE =
  'This form is out of date, or the browser did not send its cookie. Go back, reload the page and send it again. Under any name but localhost the site needs https.';

/**
 * Gives the page the token that its forms have to carry: bound to a cookie of this browser and to the session. Before
 * signing in too, so that no stranger's page can sign somebody in to the stranger's account.
 */
export function issueFormToken(options: FormGuardOptions): SiteStage {
  const { secureCookies } = options;
  return async function issueFormToken(ctx, next) {
    const sent = sentNonce(ctx, secureCookies);
    const nonce = sent ?? randomBytes(16).toString('base64url');
    if (!sent && ctx.method === 'GET') {
      const attributes = `Path=/; HttpOnly; SameSite=Lax${secureCookies ? '; Secure' : ''}`;
      ctx.append('set-cookie', `${cookieName(secureCookies)}=${nonce}; ${attributes}`);
    }
    ctx.state.formToken = createHmac('sha256', options.secret)
      .update(`form\n${nonce}\n${ctx.state.visitor?.id ?? ''}`)
      .digest('base64url');
    await next();
  };
}

/** Reads a form, and lets it through only if a page of this site, shown to this very browser and session, made it. */
export function checkForm({ secureCookies, baseUrl }: FormGuardOptions): SiteStage {
  const own = new URL(baseUrl).host;
  return async function checkForm(ctx, next) {
    if (ctx.method !== 'POST') return next();
    refuseOtherSites(ctx, own);
    const form = await readForm(ctx);
    const given = Buffer.from(form.get('_token') ?? '');
    const right = Buffer.from(ctx.state.formToken);
    const same = given.length === right.length && timingSafeEqual(given, right);
    if (!same || !sentNonce(ctx, secureCookies)) throw new GatewayError('forbidden', { message: STALE });
    ctx.state.form = form;
    await next();
  };
}

function cookieName(secure: boolean): string {
  return secure ? '__Host-hg_form' : 'hg_form';
}

function sentNonce(ctx: SiteContext, secure: boolean): string | undefined {
  const nonce = ctx.cookies.get(cookieName(secure)) ?? '';
  return NONCE.test(nonce) ? nonce : undefined;
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
  return URL.canParse(origin) && hosts.some((host) => new URL(origin).host === host.toLowerCase());
}

async function readForm(ctx: SiteContext): Promise<Map<string, string>> {
  const { values, problems } = parseUrlencoded(await readText(ctx, 'application/x-www-form-urlencoded'));
  if (problems.length > 0) throw new GatewayError('invalid_input', { details: problems });
  return values;
}
