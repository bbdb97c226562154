import type { Logger } from 'pino';
import { once } from '../../../pool/once.js';
import type { SiteDatabase } from '../database.js';
import type { Audited } from './audited.js';
import type { OidcOptions } from './auth.js';
import type { AuthSettings } from './auth-options.js';
import { changePassword } from './change-password.js';
import { createProviderSignIn, noteConnection, type ProviderSignIn } from './provider-sign-in.js';
import { refusable } from './refusable.js';
import type { Session, User, WithCookies } from './session.js';
import { createSignInLog } from './sign-in-log.js';

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

export interface SignInOptions extends AuthSettings {
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
    return refusable(async () => {
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
      const found = await refusable(async () => {
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
      const done = await refusable(async () => {
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
