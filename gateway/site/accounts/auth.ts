import { AsyncLocalStorage } from 'node:async_hooks';
import { type BetterAuthOptions, betterAuth } from 'better-auth';
import { getSessionFromCtx } from 'better-auth/api';
import { getAdapter } from 'better-auth/db/adapter';
import { genericOAuth } from 'better-auth/plugins/generic-oauth';
import type { DBAdapter } from 'better-auth/types';
import type { Logger } from 'pino';
import { rowsPerTransaction } from '../../database/rows.js';
import { GatewayError } from '../../errors.js';
import { hashSecret } from '../../keys/model.js';
import type { SiteDatabase } from '../tables.js';
import { momentOf } from './account.js';
import { maxPassword, minPassword } from './passwords.js';

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

/** What failed inside one call of better-auth, which answers with a code of its own and hides the reason. */
export interface CallErrors {
  /** Of the gateway's own: the database, or a bug. */
  fault?: unknown;
  /** Why better-auth refused, as it logged it. */
  reason?: unknown;
}

export type Auth = Awaited<ReturnType<typeof createAuth>>;

/**
 * better-auth on the site's database. Its own HTTP endpoints are not served: strangers reach the site's forms alone, with
 * their guards and throttles.
 */
export async function createAuth(options: AuthOptions) {
  const { database, logger } = options;
  const settings = authOptions(options);
  const calls = new AsyncLocalStorage<CallErrors>();

  /** Remembers a fault of ours, since better-auth turns it into an error of its own, or a redirect. */
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
    // Its lines reveal whether e-mail or password was wrong; the site logs its own.
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
    /**
     * Runs one call; undefined where better-auth refuses it. Rejects with a fault of ours where there was one, and with
     * `internal` otherwise.
     */
    async call<T>(work: (errors: CallErrors) => Promise<T>): Promise<T | undefined> {
      const errors: CallErrors = {};
      try {
        const result = await calls.run(errors, () => work(errors));
        if (errors.fault === undefined) return result;
      } catch (error) {
        const { statusCode } = error as { statusCode?: unknown };
        const refused = typeof statusCode === 'number' && statusCode < 500;
        if (errors.fault === undefined && refused) return undefined;
        errors.fault ??= error;
      }
      const { fault } = errors;
      throw fault instanceof GatewayError ? fault : new GatewayError('internal', { cause: fault });
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

const sessionSeconds = 24 * 3600;
const refreshSeconds = 3600;

export interface AuthSettings {
  secret: string;
  baseUrl: string;
  /** Whether cookies go over https alone. */
  secureCookies: boolean;
}

/** better-auth's settings without its database. */
export function authOptions({ secret, baseUrl, secureCookies }: AuthSettings) {
  return {
    appName: 'helper-gateway',
    secret,
    baseURL: baseUrl,
    telemetry: { enabled: false },
    // Otherwise it prints what goes wrong, among the lines of the log.
    onAPIError: { throw: true },
    user: {
      modelName: 'connect_users',
      // The cookie of a visit to the provider names the account to connect, and the secret that seals it is in the database:
      // a reader of a backup could connect an account of their own to an operator's.
      async validateUserInfo({ user, source }, context) {
        if (source.action !== 'link-account') return;
        const session = await getSessionFromCtx(context);
        if (session?.user.id !== user.id) return { error: 'unable_to_link_account' };
      },
    },
    basePath: '/auth',
    rateLimit: { enabled: false },
    account: {
      modelName: 'connect_accounts',
      // Otherwise each visit to the provider would leave a row behind, with the secret half of its PKCE pair in clear.
      storeStateStrategy: 'cookie',
      // The person who is signed in connects an account; an equal e-mail never does, since e-mails are not verified here:
      // an account could have been made in somebody else's name.
      accountLinking: {
        enabled: true,
        disableImplicitLinking: true,
        allowDifferentEmails: true,
        trustedProviders: ['oidc'],
      },
    },
    session: { modelName: 'connect_sessions', expiresIn: sessionSeconds, updateAge: refreshSeconds },
    verification: { modelName: 'connect_verifications' },
    // Accounts are made from invitations alone.
    emailAndPassword: {
      enabled: true,
      disableSignUp: true,
      minPasswordLength: minPassword,
      maxPasswordLength: maxPassword,
    },
    advanced: { cookiePrefix: 'hg', useSecureCookies: secureCookies },
  } satisfies BetterAuthOptions;
}

interface Statement {
  model: string;
  where?: { field: string; value: unknown }[];
  data?: Row;
  update?: Row;
}

/**
 * better-auth's database adapter, storing only the SHA-256 of session tokens. better-auth itself stores them as they are and
 * relies on the cookie's signature; but the secret that signs lies in the same database, so that a reader of a backup
 * could use every session in it. Tokens of an identity provider are not stored at all. Statements also wait for the end of
 * another process's lock on SQLite.
 */
export function hashSessions(base: DBAdapter, database: Pick<SiteDatabase, 'run'>): DBAdapter {
  const wrap = <A extends object>(adapter: A): A =>
    new Proxy(adapter, {
      get(target, name) {
        const own = Reflect.get(target, name);
        if (typeof own !== 'function') return own;
        if (name === 'transaction') {
          return (work: (trx: object) => unknown) => own.call(target, (trx: object) => work(wrap(trx)));
        }
        return async (statement: Statement, ...rest: unknown[]) => {
          if (typeof statement?.model !== 'string') return own.call(target, statement, ...rest);
          const { hidden, restore } = hideTokens(statement);
          return restore(await database.run(() => own.call(target, hidden, ...rest)));
        };
      },
    });
  return wrap(base);
}

/** A statement as the database gets it, and what gives the caller its own tokens back. */
function hideTokens(statement: Statement): { hidden: Statement; restore: (result: unknown) => unknown } {
  if (statement.model === 'account') return { hidden: onRows(statement, dropTokens), restore: asIs };
  if (statement.model !== 'session') return { hidden: statement, restore: asIs };
  const plain = new Map<string, string>();

  function hash(value: unknown): unknown {
    if (Array.isArray(value)) return value.map(hash);
    if (typeof value !== 'string') return value;
    const digest = hashSecret(value);
    plain.set(digest, value);
    return digest;
  }
  function restore(result: unknown): unknown {
    if (Array.isArray(result)) return result.map(restore);
    if (typeof result !== 'object' || result === null || !('token' in result)) return result;
    return { ...result, token: plain.get(String(result.token)) ?? result.token };
  }

  const hidden = onRows(statement, (row) => ('token' in row ? { ...row, token: hash(row.token) } : row));
  const where = statement.where?.map((part) =>
    part.field === 'token' ? { ...part, value: hash(part.value) } : part,
  );
  return { hidden: { ...hidden, ...(where && { where }) }, restore };
}

const asIs = (result: unknown) => result;

type Row = Record<string, unknown>;

function onRows(statement: Statement, change: (row: Row) => Row): Statement {
  const { data, update } = statement;
  return { ...statement, ...(data && { data: change(data) }), ...(update && { update: change(update) }) };
}

/** The site asks an identity provider who somebody is and nothing more: its tokens are of no use afterwards. */
function dropTokens({ accessToken, refreshToken, idToken, ...rest }: Row): Row {
  return rest;
}

const maxSessions = 20;

/**
 * Deletes expired sessions, and of this user all but the 20 newest: successful sign-ins are not slowed down, and each leaves
 * a row behind. Of very many it deletes some, and the next sign-in more.
 */
export async function pruneSessions(
  database: SiteDatabase,
  userId: string,
  now: () => number = Date.now,
): Promise<void> {
  await database.run((db) =>
    db
      .deleteFrom('connect_sessions')
      .where('id', 'in', (old) =>
        old
          .selectFrom('connect_sessions as old')
          .select('old.id')
          .where((eb) =>
            eb.or([
              eb('old.expiresAt', '<', momentOf(database.kind, now())),
              eb.and([
                eb('old.userId', '=', userId),
                eb(
                  'old.id',
                  'not in',
                  eb
                    .selectFrom('connect_sessions as kept')
                    .select('kept.id')
                    .where('kept.userId', '=', userId)
                    .orderBy('kept.expiresAt', 'desc')
                    .limit(maxSessions),
                ),
              ]),
            ]),
          )
          .limit(rowsPerTransaction),
      )
      .execute(),
  );
}
