import { betterAuth } from 'better-auth';
import { getAdapter } from 'better-auth/db/adapter';
import { genericOAuth } from 'better-auth/plugins/generic-oauth';
import type { Logger } from 'pino';
import { GatewayError } from '../../errors.js';
import type { ConnectDatabase } from '../database.js';
import { type AuthSettings, authOptions } from './auth-options.js';
import { hashSessions } from './hashed-sessions.js';
import { pruneSessions } from './prune-sessions.js';

export interface User {
  id: string;
  email: string;
  name: string;
}

/** A session that a request's cookie opens. */
export interface Session {
  id: string;
  user: User;
}

/** What an answer carries besides; `cookies` are `Set-Cookie` values. */
interface WithCookies {
  cookies: string[];
}

/** An identity provider that speaks OpenID Connect. */
export interface OidcOptions {
  /** Its address; the discovery document lies below it. */
  issuer: string;
  clientId: string;
  clientSecret: string;
  /** What people call it, e.g. `Okta`. */
  name: string;
}

/** Signing in by e-mail and password. All reject with `keys_unavailable` where the database does not answer. */
export interface SignIn {
  /** A new session, or undefined where e-mail or password is wrong; both take the same time. */
  signIn(email: string, password: string): Promise<WithCookies | undefined>;
  /** The session of a request's `Cookie` header. */
  session(cookie: string): Promise<(WithCookies & { session: Session }) | undefined>;
  signOut(cookie: string): Promise<WithCookies>;
  /** Ends the user's other sessions too. Undefined where the current password is wrong. */
  changePassword(cookie: string, current: string, next: string): Promise<WithCookies | undefined>;
  /** The way to the identity provider, to sign in or, with a session's cookie, to connect; undefined where it does not answer. */
  toProvider(cookie?: string): Promise<(WithCookies & { url: string }) | undefined>;
  /** The way back from it, with this query: where to go on, signed in or connected, or not. */
  fromProvider(query: string, cookie: string): Promise<WithCookies & { location: string }>;
}

export interface SignInOptions extends AuthSettings {
  database: ConnectDatabase;
  oidc?: OidcOptions | undefined;
  logger: Pick<Logger, 'debug'>;
}

/**
 * better-auth behind the few operations that the site needs. Its own HTTP endpoints are not served, so what strangers reach
 * is the site's forms, with their guards and throttles, and nothing else.
 */
export async function createSignIn(options: SignInOptions): Promise<SignIn> {
  const { database, logger } = options;
  const settings = authOptions(options);
  const base = await getAdapter({
    ...settings,
    database: { db: database.handle, type: database.kind },
  });
  const auth = betterAuth({
    ...settings,
    plugins: options.oidc ? [providerPlugin(options.oidc)] : [],
    database: () => hashSessions(base, database),
    databaseHooks: {
      session: { create: { after: ({ userId }) => pruneSessions(database, userId) } },
    },
    // better-auth's lines say what a wrong password was wrong about; the site logs its own.
    logger: { log: (level, message) => logger.debug({ level }, message) },
  });

  return {
    async signIn(email, password) {
      return refusable(async () => {
        const { headers } = await auth.api.signInEmail({ body: { email, password }, returnHeaders: true });
        return { cookies: headers.getSetCookie() };
      });
    },
    async session(cookie) {
      if (!cookie) return undefined;
      const found = await refusable(() =>
        auth.api.getSession({ headers: new Headers({ cookie }), returnHeaders: true }),
      );
      if (!found?.response) return undefined;
      const { session, user } = found.response;
      return {
        session: { id: session.id, user: { id: user.id, email: user.email, name: user.name } },
        cookies: found.headers.getSetCookie(),
      };
    },
    async signOut(cookie) {
      const done = await refusable(() =>
        auth.api.signOut({ headers: new Headers({ cookie }), returnHeaders: true }),
      );
      return { cookies: done?.headers.getSetCookie() ?? [] };
    },
    async toProvider(cookie) {
      const body = {
        provider: 'oidc',
        callbackURL: cookie === undefined ? '/' : '/account?connected=1',
        errorCallbackURL: cookie === undefined ? '/sign-in?failed=1' : '/account?connected=0',
        disableRedirect: true,
      };
      return refusable(async () => {
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
    },
    async fromProvider(query, cookie) {
      const url = new URL(`/auth/callback/oidc?${query}`, options.baseUrl);
      const answer = await auth.handler(new Request(url, { headers: { cookie } }));
      if (answer.status >= 500) throw new GatewayError('keys_unavailable', { cause: await answer.text() });
      return { location: answer.headers.get('location') ?? '/', cookies: answer.headers.getSetCookie() };
    },
    async changePassword(cookie, currentPassword, newPassword) {
      return refusable(async () => {
        const { headers } = await auth.api.changePassword({
          headers: new Headers({ cookie }),
          body: { currentPassword, newPassword, revokeOtherSessions: true },
          returnHeaders: true,
        });
        return { cookies: headers.getSetCookie() };
      });
    },
  };
}

function providerPlugin({ issuer, clientId, clientSecret, name }: OidcOptions) {
  const discoveryUrl = `${issuer.replace(/\/$/, '')}/.well-known/openid-configuration`;
  return genericOAuth({
    config: [
      {
        providerId: 'oidc',
        name,
        discoveryUrl,
        clientId,
        clientSecret,
        scopes: ['openid', 'email', 'profile'],
        pkce: true,
        requireIdTokenVerification: true,
        disableSignUp: true,
        disableImplicitSignUp: true,
      },
    ],
  });
}

/** Undefined where better-auth refused; what else went wrong under it is the database's. */
async function refusable<T>(work: () => Promise<T>): Promise<T | undefined> {
  try {
    return await work();
  } catch (error) {
    const status = (error as { statusCode?: unknown }).statusCode;
    if (typeof status === 'number' && status < 500) return undefined;
    if (error instanceof GatewayError) throw error;
    throw new GatewayError('keys_unavailable', { cause: error });
  }
}
