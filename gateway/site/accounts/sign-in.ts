import { isIP } from 'node:net';
import type { Kysely } from 'kysely';
import type { Logger } from 'pino';
import { once } from '../../../pool/once.js';
import { quote } from '../../../schemas/quote.js';
import { GatewayError } from '../../errors.js';
import type { SiteDatabase, SiteTables } from '../tables.js';
import {
  type Audited,
  actorOf,
  hashPassword,
  type Session,
  setPassword,
  type User,
  verifyPassword,
  type WithCookies,
} from './account.js';
import type { Auth, AuthSettings, CallErrors, OidcOptions } from './auth.js';
import { createAttemptBudget } from './throttle.js';

/**
 * Signing in, by e-mail and password or through an identity provider. Who signs in, who tries in vain, and each change is in the
 * audit log. Where the database does not answer, all reject with `keys_unavailable`.
 */
export interface SignIn extends ProviderSignIn {
  /** A new session, or undefined where e-mail or password is wrong; both take the same time. */
  signIn(email: string, password: string, address: string): Promise<WithCookies | undefined>;
  /** The session of a request's `Cookie` header. */
  session(cookie: string): Promise<(WithCookies & { session: Session }) | undefined>;
  signOut(cookie: string): Promise<WithCookies>;
  /** Ends all the user's sessions and makes a new one. Undefined where the current password is wrong. */
  changePassword(user: User, current: string, next: string): Promise<WithCookies | undefined>;
}

interface SignInOptions extends AuthSettings {
  database: SiteDatabase;
  audited: Audited;
  oidc?: OidcOptions | undefined;
  logger: Pick<Logger, 'debug'>;
}

/** better-auth behind the few operations that the site needs; loaded with the first of them, for it takes as long as a start. */
export function createSignIn(options: SignInOptions): SignIn {
  const { database, audited, oidc } = options;
  const openAuth = once(async () => {
    const { createAuth } = await import('./auth.js');
    return createAuth({
      ...options,
      onConnect: (userId, accountId) => noteConnection(audited, { userId, accountId, through: oidc?.name }),
    });
  });
  const log = createSignInLog(audited);

  async function open(email: string, password: string): Promise<(WithCookies & { user: User }) | undefined> {
    return undefinedIfRefused(async () => {
      const auth = await openAuth();
      return auth.call(async () => {
        const { headers, response } = await auth.api.signInEmail({
          body: { email, password },
          returnHeaders: true,
        });
        return { cookies: headers.getSetCookie(), user: response.user };
      });
    });
  }

  const accounts = {
    async session(cookie: string) {
      if (!cookie) return undefined;
      const found = await undefinedIfRefused(async () => {
        const auth = await openAuth();
        return auth.call(() =>
          auth.api.getSession({ headers: new Headers({ cookie }), returnHeaders: true }),
        );
      });
      if (!found?.response) return undefined;
      const { session, user } = found.response;
      return {
        session: { id: session.id, user: { id: user.id, email: user.email, name: user.name } },
        cookies: found.headers.getSetCookie(),
      };
    },
    async signOut(cookie: string) {
      const done = await undefinedIfRefused(async () => {
        const auth = await openAuth();
        return auth.call(() => auth.api.signOut({ headers: new Headers({ cookie }), returnHeaders: true }));
      });
      return { cookies: done?.headers.getSetCookie() ?? [] };
    },
  };

  return {
    ...accounts,
    ...createProviderSignIn({ ...options, ...accounts, openAuth, log }),
    async signIn(email, password, address) {
      const opened = await open(email, password);
      if (!opened) {
        await log.failed(email, { address });
        return undefined;
      }
      // better-auth has written the session by itself, so the entry cannot be in its transaction. But only now is the session's
      // token given away: where the entry fails, nobody can use that row, and it runs out.
      await log.succeeded(opened.user, { address });
      return { cookies: opened.cookies };
    },
    async changePassword(user, current, next) {
      const changed = await changePassword({ database, audited }, user, current, next);
      // With the new password at once, and noted as its change already.
      return changed ? open(user.email, next) : undefined;
    },
  };
}

/** What came of a way to the provider and back: of one to sign in, and of one to connect an account. */
export type ProviderOutcome = 'signed_in' | 'not_signed_in' | 'connected' | 'not_connected';

/** Signing in through an identity provider, with an account that was connected with it. */
interface ProviderSignIn {
  /** The way to the provider, to sign in or, with a session's cookie, to connect; undefined where it does not answer. */
  toProvider(cookie?: string): Promise<(WithCookies & { url: string }) | undefined>;
  /** The way back from it, with this query. Rejects with `upstream_failed` where the provider does not do its part. */
  fromProvider(
    query: string,
    cookie: string,
    address: string,
  ): Promise<WithCookies & { returned: ProviderOutcome }>;
}

interface ProviderSignInOptions {
  openAuth: () => Promise<Auth>;
  log: SignInLog;
  baseUrl: string;
  oidc?: Pick<OidcOptions, 'name'> | undefined;
  session: (cookie: string) => Promise<{ session: Session } | undefined>;
}

const connectPath = '/account';

function createProviderSignIn(options: ProviderSignInOptions): ProviderSignIn {
  const { openAuth, log, baseUrl, session } = options;
  const through = options.oidc?.name ?? 'OpenID Connect';

  return {
    async toProvider(cookie) {
      const start = cookie === undefined ? '/sign-in' : connectPath;
      const body = { provider: 'oidc', callbackURL: start, errorCallbackURL: start, disableRedirect: true };
      return undefinedIfRefused(async () => {
        const auth = await openAuth();
        return auth.call(async () => {
          const { headers, response } =
            cookie === undefined
              ? await auth.api.signInSocial({ body, returnHeaders: true })
              : await auth.api.linkSocialAccount({
                  body,
                  headers: new Headers({ cookie }),
                  returnHeaders: true,
                });
          if (!response.url) return undefined;
          return { url: response.url, cookies: headers.getSetCookie() };
        });
      });
    },
    async fromProvider(query, cookie, address) {
      const auth = await openAuth();
      const answered = await undefinedIfRefused(() =>
        auth.call(async (beneath) => {
          const url = new URL(`/auth/callback/oidc?${query}`, baseUrl);
          const { headers } = await auth.handler(new Request(url, { headers: { cookie } }));
          const to = new URL(headers.get('location') ?? '/?error=none', baseUrl);
          // An error that the query brings is the visitor's or the provider's word, and no fault that was seen here.
          if (!url.searchParams.has('error')) refuseProviderFault(to, beneath, through);
          return { to, cookies: headers.getSetCookie() };
        }),
      );
      const { to, cookies } = answered ?? { to: new URL('/?error=refused', baseUrl), cookies: [] };
      const failed = to.searchParams.has('error');
      if (to.pathname === connectPath) return { returned: failed ? 'not_connected' : 'connected', cookies };
      const opened = cookies.find((header) => header.startsWith(`${auth.sessionCookie}=`));
      const found = opened && (await session(opened.split(';', 1)[0] ?? ''));
      if (!found) {
        await log.failed(undefined, { address, through });
        return { returned: 'not_signed_in', cookies };
      }
      // After the session was written, and before anybody has its token: see `signIn`.
      await log.succeeded(found.session.user, { address, through });
      return { returned: 'signed_in', cookies };
    },
  };
}

/**
 * Notes that an account is being connected with one of the provider's. better-auth writes the row in no transaction of ours,
 * and it is a way in at once; so the entry comes first, and where it fails there is no row.
 */
async function noteConnection(
  audited: Audited,
  { userId, accountId, through }: { userId: string; accountId: string; through: string | undefined },
): Promise<void> {
  await audited(async (trx, note) => {
    const user = await trx
      .selectFrom('connect_users')
      .select('email')
      .where('id', '=', userId)
      .executeTakeFirstOrThrow();
    const detail = { through: through ?? null, account: quote(accountId) };
    await note({ actor: actorOf(user), action: 'account.connect', detail });
  });
}

/**
 * better-auth says `invalid_code` of a code that the provider refused (400, as OAuth has it) and of a provider that is away
 * alike, and `unable_to_get_user_info` of an identity that it cannot verify though the code was right.
 */
function refuseProviderFault({ searchParams }: URL, { reason }: CallErrors, name: string): void {
  const error = searchParams.get('error');
  const refusedCode = (reason as { status?: unknown } | undefined)?.status === 400;
  if (error !== 'unable_to_get_user_info' && (error !== 'invalid_code' || refusedCode)) return;
  throw new GatewayError('upstream_failed', {
    message: `${name} did not answer as it should. Try again in a moment, or sign in with your password.`,
    cause: reason,
  });
}

/**
 * Changes a password and ends all sessions of the user; false where `current` is wrong. Here and not by better-auth, whose
 * change cannot be in one transaction with its entry in the audit log.
 */
export async function changePassword(
  { database, audited }: { database: SiteDatabase; audited: Audited },
  user: User,
  current: string,
  next: string,
): Promise<boolean> {
  const known = await database.run((db) => passwordHash(db, user.id));
  if (!known || !(await verifyPassword({ hash: known, password: current }))) return false;
  const hash = await hashPassword(next);
  return audited(async (trx, note) => {
    // What was judged above may have been replaced meanwhile, by who knows of a theft.
    if ((await passwordHash(trx, user.id)) !== known) return false;
    await setPassword(trx, database.kind, user.id, hash, Date.now());
    await note({ actor: actorOf(user), action: 'account.change_password', detail: {} });
    return true;
  });
}

async function passwordHash(db: Kysely<SiteTables>, userId: string): Promise<string | null> {
  const row = await db
    .selectFrom('connect_accounts')
    .select('password')
    .where('userId', '=', userId)
    .where('providerId', '=', 'credential')
    .executeTakeFirst();
  return row?.password ?? null;
}

/** How somebody came, or tried to. */
interface SignInOrigin {
  /** The client's address. */
  address: string;
  /** The identity provider's name, where it was not by password. */
  through?: string;
}

/** Who signed in, and who tried to, for the audit log. */
interface SignInLog {
  /** Rejects where it cannot be noted: nobody is to be let in then. */
  succeeded(user: User, way: SignInOrigin): Promise<void>;
  /** `tried` is the e-mail that was typed. */
  failed(tried: string | undefined, way: SignInOrigin): Promise<void>;
}

/**
 * Failures that are noted singly. The throttle holds one address and one account to a few, but there are many addresses and
 * no end of invented accounts, and nothing is ever deleted from the log: so past this number the next entry says how many there
 * were, which is at most 14,400 entries a day from a gateway, 3 MB. The site's own log has a line of every one.
 */
const failuresNoted = { failures: 100, seconds: 600 };

export function createSignInLog(audited: Audited): SignInLog {
  const failures = createAttemptBudget(failuresNoted.failures, failuresNoted.seconds);
  let left = 0;

  /** How many failures were left out since the last entry; they are said once. */
  async function noteWithLeft(work: (detail: { not_noted?: number }) => Promise<void>): Promise<void> {
    const said = left;
    left = 0;
    try {
      await work(said > 0 ? { not_noted: said } : {});
    } catch (error) {
      left += said;
      throw error;
    }
  }

  return {
    succeeded(user, way) {
      return noteWithLeft((detail) =>
        audited((_, note) =>
          note({
            actor: actorOf(user),
            action: 'account.sign_in',
            detail: { ...originDetail(way), ...detail },
          }),
        ),
      );
    },
    async failed(tried, way) {
      if ((await failures.take('all')) > 0) {
        left += 1;
        return;
      }
      // Anybody can type anything: what was typed is cut, quoted, and no actor.
      const email = tried === undefined ? {} : { tried: quote(tried) };
      const { address, ...rest } = originDetail(way);
      await noteWithLeft((detail) =>
        audited((_, note) =>
          note({
            actor: `address:${address}`,
            action: 'account.sign_in_failed',
            detail: { ...email, ...rest, ...detail },
          }),
        ),
      );
    },
  };
}

/** An address from a proxy's header is whatever the proxy wrote. */
function originDetail({ address, through }: SignInOrigin) {
  return { address: isIP(address) === 0 ? 'unknown' : address, ...(through !== undefined && { through }) };
}

/** Undefined where better-auth refused; what else it throws is a fault: ours as `call` brings it to light, or a bug. */
async function undefinedIfRefused<T>(work: () => Promise<T>): Promise<T | undefined> {
  try {
    return await work();
  } catch (error) {
    const status = (error as { statusCode?: unknown }).statusCode;
    if (typeof status === 'number' && status < 500) return undefined;
    throw error instanceof GatewayError ? error : new GatewayError('internal', { cause: error });
  }
}
