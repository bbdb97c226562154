import { isIP } from 'node:net';
import type { Kysely } from 'kysely';
import { once } from '../../../pool/concurrency.js';
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
import type { AuthOptions, CallErrors } from './auth.js';
import { createAttemptBudget } from './throttle.js';

interface SignInOptions extends Omit<AuthOptions, 'onConnect'> {
  audited: Audited;
}

/** The outcome of a visit to the provider: to sign in, or to connect an account. */
export type ProviderOutcome = 'signed_in' | 'not_signed_in' | 'connected' | 'not_connected';

/** Path that a visit to connect an account returns to. */
const connectPath = '/account';

export type SignIn = ReturnType<typeof createSignIn>;

/**
 * Signing in, by e-mail and password or through an identity provider, with better-auth behind it, which is loaded when it is first
 * needed: that takes as long as a start. Sign-ins, failed ones too, and changes are in the audit log. Where the database does
 * not answer, all reject with `keys_unavailable`.
 */
export function createSignIn(options: SignInOptions) {
  const { database, audited, oidc, baseUrl } = options;
  const through = oidc?.name ?? 'OpenID Connect';
  const log = createSignInLog(audited);
  const openAuth = once(async () => {
    const { createAuth } = await import('./auth.js');
    return createAuth({ ...options, onConnect: noteConnection });
  });

  async function open(email: string, password: string): Promise<(WithCookies & { user: User }) | undefined> {
    const auth = await openAuth();
    return auth.call(async () => {
      const { headers, response } = await auth.api.signInEmail({
        body: { email, password },
        returnHeaders: true,
      });
      return { cookies: headers.getSetCookie(), user: response.user };
    });
  }

  async function session(cookie: string): Promise<(WithCookies & { session: Session }) | undefined> {
    if (!cookie) return undefined;
    const auth = await openAuth();
    const found = await auth.call(() =>
      auth.api.getSession({ headers: new Headers({ cookie }), returnHeaders: true }),
    );
    if (!found?.response) return undefined;
    const { session, user } = found.response;
    return {
      session: { id: session.id, user: { id: user.id, email: user.email, name: user.name } },
      cookies: found.headers.getSetCookie(),
    };
  }

  /**
   * Notes that an account is being connected with one of the provider's. better-auth writes the row in no transaction of ours,
   * and it opens the account at once; so the entry comes first, and where it fails there is no row.
   */
  async function noteConnection(userId: string, accountId: string): Promise<void> {
    await audited(async (trx, note) => {
      const user = await trx
        .selectFrom('connect_users')
        .select('email')
        .where('id', '=', userId)
        .executeTakeFirstOrThrow();
      const detail = { through: oidc?.name ?? null, account: quote(accountId) };
      await note({ actor: actorOf(user), action: 'account.connect', detail });
    });
  }

  return {
    session,

    /** A new session, or undefined where e-mail or password is wrong; both take the same time. */
    async signIn(email: string, password: string, address: string): Promise<WithCookies | undefined> {
      const opened = await open(email, password);
      if (!opened) {
        await log.failed(email, { address });
        return undefined;
      }
      // better-auth has written the session by itself, so the entry cannot be in its transaction. But the session's token is
      // given away only now: where the entry fails, the row is of no use to anybody, and it expires.
      await log.succeeded(opened.user, { address });
      return { cookies: opened.cookies };
    },

    async signOut(cookie: string): Promise<WithCookies> {
      const auth = await openAuth();
      const done = await auth.call(() =>
        auth.api.signOut({ headers: new Headers({ cookie }), returnHeaders: true }),
      );
      return { cookies: done?.headers.getSetCookie() ?? [] };
    },

    /** Ends all the user's sessions and makes a new one. Undefined where the current password is wrong. */
    async changePassword(user: User, current: string, next: string): Promise<WithCookies | undefined> {
      const changed = await changePassword({ database, audited }, user, current, next);
      return changed ? open(user.email, next) : undefined;
    },

    /** The provider's url, to sign in or, with a session's cookie, to connect; undefined where the provider does not answer. */
    async toProvider(cookie?: string): Promise<(WithCookies & { url: string }) | undefined> {
      const start = cookie === undefined ? '/sign-in' : connectPath;
      const body = { provider: 'oidc', callbackURL: start, errorCallbackURL: start, disableRedirect: true };
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
        return response.url ? { url: response.url, cookies: headers.getSetCookie() } : undefined;
      });
    },

    /** The visitor's return, with this query. Rejects with `upstream_failed` where the provider fails. */
    async fromProvider(
      query: string,
      cookie: string,
      address: string,
    ): Promise<WithCookies & { returned: ProviderOutcome }> {
      const auth = await openAuth();
      const answered = await auth.call(async (errors) => {
        const url = new URL(`/auth/callback/oidc?${query}`, baseUrl);
        const { headers } = await auth.handler(new Request(url, { headers: { cookie } }));
        const to = new URL(headers.get('location') ?? '/?error=none', baseUrl);
        // An error in the query is the visitor's or the provider's word, and no failure that was seen here.
        if (!url.searchParams.has('error')) refuseProviderFault(to, errors, through);
        return { to, cookies: headers.getSetCookie() };
      });
      const { to, cookies } = answered ?? { to: new URL('/?error=refused', baseUrl), cookies: [] };
      const failed = to.searchParams.has('error');
      if (to.pathname === connectPath) return { returned: failed ? 'not_connected' : 'connected', cookies };
      const opened = cookies.find((header) => header.startsWith(`${auth.sessionCookie}=`));
      const found = opened && (await session(opened.split(';', 1)[0] ?? ''));
      if (!found) {
        await log.failed(undefined, { address, through });
        return { returned: 'not_signed_in', cookies };
      }
      // As in `signIn`: after the session was written, and before its token is given away.
      await log.succeeded(found.session.user, { address, through });
      return { returned: 'signed_in', cookies };
    },
  };
}

/**
 * better-auth says `invalid_code` both of a code that the provider refused (400, as OAuth has it) and of a provider that does not
 * answer, and `unable_to_get_user_info` of an identity that it cannot verify though the code was right.
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
    // The one verified above may have been replaced meanwhile, because of a theft.
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

/** Where a sign-in, or an attempt, comes from. */
interface SignInOrigin {
  /** The client's address. */
  address: string;
  /** The identity provider's name, where it was not by password. */
  through?: string;
}

/**
 * Failures that are noted singly. The throttle limits one address and one account, but there are many addresses and no end of
 * invented accounts, and nothing is ever deleted from the audit log: so past this number the next entry says how many there
 * were, which is at most 14,400 entries a day from a gateway, 3 MB. The site's own log has a line of every one.
 */
const failuresNoted = { failures: 100, seconds: 600 };

/** Notes in the audit log who signed in, and who tried to. */
export function createSignInLog(audited: Audited) {
  const failures = createAttemptBudget(failuresNoted.failures, failuresNoted.seconds);
  let omitted = 0;

  /** Adds how many failures were left out since the last entry. */
  async function note(entry: {
    actor: string;
    action: 'account.sign_in' | 'account.sign_in_failed';
    detail: object;
  }) {
    const noted = omitted;
    omitted = 0;
    const detail = { ...entry.detail, ...(noted > 0 && { not_noted: noted }) };
    try {
      await audited((_, note) => note({ ...entry, detail }));
    } catch (error) {
      omitted += noted;
      throw error;
    }
  }

  return {
    /** Rejects where it cannot be noted: the sign-in must fail then. */
    succeeded(user: User, origin: SignInOrigin): Promise<void> {
      return note({ actor: actorOf(user), action: 'account.sign_in', detail: originDetail(origin) });
    },
    /** `tried` is the e-mail that was typed. */
    async failed(tried: string | undefined, origin: SignInOrigin): Promise<void> {
      if ((await failures.consume('all')) > 0) {
        omitted += 1;
        return;
      }
      // Anybody can type anything: the e-mail is cut and quoted, and is no actor.
      const email = tried === undefined ? {} : { tried: quote(tried) };
      const { address, ...rest } = originDetail(origin);
      const actor = `address:${address}`;
      await note({ actor, action: 'account.sign_in_failed', detail: { ...email, ...rest } });
    },
  };
}

/** A proxy's header can hold anything in place of an address. */
function originDetail({ address, through }: SignInOrigin) {
  return { address: isIP(address) === 0 ? 'unknown' : address, ...(through !== undefined && { through }) };
}
