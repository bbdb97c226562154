import { AsyncLocalStorage } from 'node:async_hooks';
import { betterAuth } from 'better-auth';
import { getAdapter } from 'better-auth/db/adapter';
import { genericOAuth } from 'better-auth/plugins/generic-oauth';
import type { Logger } from 'pino';
import type { SiteDatabase } from '../database.js';
import { type AuthSettings, authOptions } from './auth-options.js';
import { hashSessions } from './hashed-sessions.js';
import { pruneSessions } from './prune-sessions.js';

/** An identity provider that speaks OpenID Connect. */
export interface OidcOptions {
  /** Its address; the discovery document lies below it. */
  issuer: string;
  clientId: string;
  clientSecret: string;
  /** What people call it, e.g. `Okta`. */
  name: string;
}

export interface AuthOptions extends AuthSettings {
  database: SiteDatabase;
  oidc?: OidcOptions | undefined;
  logger: Pick<Logger, 'debug'>;
  /** Called before a user's account is connected with one of the provider's; where it rejects, it is not. */
  onConnect: (userId: string, accountId: string) => Promise<void>;
}

/** What went wrong below one call of better-auth, which answers with a code of its own and keeps the reason to itself. */
export interface Beneath {
  /** Of the gateway's own: the database, or a bug. */
  fault?: unknown;
  /** Why better-auth refused, as it told its logger. */
  reason?: unknown;
}

export type Auth = Awaited<ReturnType<typeof createAuth>>;

/**
 * better-auth on the site's database. Its own HTTP endpoints are not served, so what strangers reach is the site's forms, with
 * their guards and throttles, and nothing else.
 */
export async function createAuth(options: AuthOptions) {
  const { database, logger } = options;
  const settings = authOptions(options);
  const calls = new AsyncLocalStorage<Beneath>();

  /** Keeps a fault of ours, as better-auth makes an error of its own of it, or a redirect. */
  async function own<T>(work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (error) {
      const call = calls.getStore();
      if (call) call.fault ??= error;
      throw error;
    }
  }

  const base = await getAdapter({
    ...settings,
    database: { db: database.handle, type: database.kind },
  });
  const auth = betterAuth({
    ...settings,
    plugins: options.oidc ? [providerPlugin(options.oidc)] : [],
    database: () => hashSessions(base, { run: (work) => own(() => database.run(work)) }),
    databaseHooks: {
      session: { create: { after: ({ userId }) => own(() => pruneSessions(database, userId)) } },
      account: {
        create: { before: ({ userId, accountId }) => own(() => options.onConnect(userId, accountId)) },
      },
    },
    // Its lines say what a wrong password was wrong about; the site logs its own.
    logger: {
      log(level, message, ...details) {
        logger.debug({ level }, message);
        const call = calls.getStore();
        if (call && details[0] !== undefined) call.reason ??= details[0];
      },
    },
  });

  return {
    api: auth.api,
    handler: auth.handler,
    /** The name of the session's cookie. */
    sessionCookie: (await auth.$context).authCookies.sessionToken.name,
    /** Runs one call. Rejects with a fault of ours where there was one, and otherwise with what better-auth threw. */
    async call<T>(work: (beneath: Beneath) => Promise<T>): Promise<T> {
      const beneath: Beneath = {};
      try {
        const result = await calls.run(beneath, () => work(beneath));
        if (beneath.fault === undefined) return result;
      } catch (error) {
        if (beneath.fault === undefined) throw error;
      }
      throw beneath.fault;
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
