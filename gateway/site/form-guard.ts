import { createHash, createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import { parseUrlencoded, readUtf8, tryUrl } from '../../schemas/input/parse.js';
import { isDuplicate } from '../database/store-error.js';
import { GatewayError, inputError } from '../errors.js';
import { announcedBytes, bodyTooLarge, createTextReader, requirePlain } from '../http/body.js';
import { siteCookie } from './accounts/account.js';
import type { SiteContext, SiteStage } from './state.js';
import type { SiteDatabase } from './tables.js';

const noncePattern = /^[\w-]{22}$/;

type FormGuardOptions = { secret: string; secureCookies: boolean; baseUrl: string };

const staleMessage =
  'This form is out of date, or the browser did not send its cookie. Go back, reload the page and send it again. Under any name but localhost the site needs https.';

/**
 * A form's token, bound to the session and a cookie, before signing in too: no other site may sign somebody in to its
 * own account. Own code: Koa's packages for it keep a session on the server.
 */
export function issueFormToken(options: FormGuardOptions): SiteStage {
  const { secureCookies } = options;
  return async function issueFormToken(ctx, next) {
    const sent = sentNonce(ctx, secureCookies);
    const nonce = sent ?? randomBytes(16).toString('base64url');
    if (!sent && ctx.method === 'GET') ctx.append('set-cookie', formCookie(secureCookies).set(nonce));
    ctx.state.formToken = createHmac('sha256', options.secret)
      .update(`form\n${nonce}\n${ctx.state.visitor?.id ?? ''}`)
      .digest('base64url');
    await next();
  };
}

/** Reads a form; refuses one that was not made by a page of this site for this very browser and session. */
export async function readGuardedForm(
  ctx: SiteContext,
  { secureCookies, baseUrl }: Pick<FormGuardOptions, 'secureCookies' | 'baseUrl'>,
): Promise<Map<string, string>> {
  refuseOtherSites(ctx, baseUrl);
  const { values: form, problems } = parseUrlencoded(
    await readText(ctx, 'application/x-www-form-urlencoded'),
  );
  if (problems.length > 0) throw inputError(problems);
  const given = Buffer.from(form.get('_token') ?? '');
  const right = Buffer.from(ctx.state.formToken);
  const same = given.length === right.length && timingSafeEqual(given, right);
  if (!same || !sentNonce(ctx, secureCookies)) throw new GatewayError('forbidden', { message: staleMessage });
  return form;
}

const formCookie = (secure: boolean) => siteCookie('hg_form', secure);

function sentNonce(ctx: SiteContext, secure: boolean): string | undefined {
  const nonce = formCookie(secure).read(ctx.get('cookie')) ?? '';
  return noncePattern.test(nonce) ? nonce : undefined;
}

/** `Origin` is `null` in what a browser sends from these pages, because they send no referrer. */
export function refuseOtherSites(ctx: SiteContext, baseUrl: string): void {
  const own = new URL(baseUrl).host;
  const site = ctx.get('sec-fetch-site');
  const origin = ctx.get('origin');
  const foreign =
    (site !== '' && site !== 'same-origin' && site !== 'none') ||
    (origin !== '' && origin !== 'null' && !isOwnHost(origin, own, ctx.get('host')));
  if (foreign) throw new GatewayError('forbidden', { message: 'This was sent by another site.' });
}

function isOwnHost(origin: string, ...hosts: string[]): boolean {
  const own = tryUrl(origin)?.host;
  return hosts.some((host) => own === host.toLowerCase());
}

/** Far more than any form or JSON body of the site needs. */
const maxBodyBytes = 64 * 1024;

const readBodyText = createTextReader(maxBodyBytes);

/** The text of a request's body, empty where there is none; it must be of media type `type`, whole and UTF-8. */
export async function readText(ctx: SiteContext, type: string): Promise<string> {
  if (announcedBytes(ctx.req.headers) === 0) return '';
  requirePlain(ctx);
  if (!ctx.is(type)) {
    throw new GatewayError('unsupported_media_type', { message: `Send ${type}, not compressed.` });
  }
  if ((ctx.request.length ?? 0) > maxBodyBytes) throw bodyTooLarge(maxBodyBytes);
  const text = readUtf8(await readBodyText(ctx));
  if ('problems' in text) throw inputError(text.problems);
  return text.value;
}

const markLifetimeMs = 86_400_000;

/** Marks of forms that may be sent once: a reload would make another key. Stored: it may reach another gateway. */
export function createFormMarks({ run }: SiteDatabase, now: () => number = Date.now) {
  return {
    mark: () => randomBytes(12).toString('base64url'),
    /** True for a mark's first request within a day. */
    async claim(mark: string): Promise<boolean> {
      const row = { id: markId(mark), at: now() };
      try {
        await run((db) => db.insertInto('connect_once').values(row).execute());
      } catch (error) {
        if (isDuplicate(error)) return false;
        throw error;
      }
      const oldest = now() - markLifetimeMs;
      await run((db) => db.deleteFrom('connect_once').where('at', '<', oldest).execute());
      return true;
    },
    /** Undoes a claim, for a form that was refused and may be sent again. */
    async release(mark: string): Promise<void> {
      await run((db) => db.deleteFrom('connect_once').where('id', '=', markId(mark)).execute());
    },
  };
}

/** A mark is the client's text: its hash has one form and length in the table. */
function markId(mark: string): string {
  return createHash('sha256').update(mark).digest('base64url');
}
