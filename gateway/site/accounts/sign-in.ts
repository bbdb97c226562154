import { randomBytes } from 'node:crypto';
import { isIP } from 'node:net';
import type { Kysely, Transaction } from 'kysely';
import type { Logger } from 'pino';
import { once } from '../../../pool/concurrency.js';
import { quote } from '../../../schemas/quote.js';
import { rowsPerTransaction } from '../../database/rows.js';
import { hashSecret } from '../../keys/model.js';
import type { SiteDatabase, SiteTables } from '../tables.js';
import {
  type Audited,
  actorOf,
  createAudited,
  hashPassword,
  type Session,
  setPassword,
  siteCookie,
  type User,
  verifyPassword,
  type WithCookies,
} from './account.js';
import { isEmail } from './passwords.js';
import type { OidcOptions } from './provider.js';
import { createAttemptBudget } from './throttle.js';

interface SignInOptions {
  database: SiteDatabase;
  /** Signs what a visit to the provider needs. */
  secret: string;
  baseUrl: string;
  /** Whether cookies go over https alone. */
  secureCookies: boolean;
  oidc?: OidcOptions | undefined;
  logger: Pick<Logger, 'warn'>;
  now?: (() => number) | undefined;
}

/** The outcome of a visit to the provider: to sign in, or to connect an account. */
export type ProviderOutcome = 'signed_in' | 'not_signed_in' | 'connected' | 'not_connected';

export type SignIn = ReturnType<typeof createSignIn>;

/** Signing in by password or through an identity provider; sign-ins, failed ones too, and changes are audited. */
export function createSignIn(options: SignInOptions) {
  const { database, oidc } = options;
  const through = oidc?.name ?? 'OpenID Connect';
  const audited = createAudited(database, options.now);
  const log = createSignInLog(audited);
  const sessions = createSessions(options);
  // Loaded when somebody first visits the provider.
  const openProvider = once(async () => {
    if (!oidc) throw new Error('no identity provider is set');
    return (await import('./provider.js')).createProvider({ ...options, ...oidc });
  });

  /** Connects a user's account with one of the provider's; false where it is another user's. */
  async function connect(user: User, subject: string): Promise<boolean> {
    return audited(async (trx, note) => {
      const owner = await trx
        .selectFrom('connect_identities')
        .select('user_id')
        .where('subject', '=', subject)
        .executeTakeFirst();
      if (owner) return owner.user_id === user.id;
      await trx.insertInto('connect_identities').values({ subject, user_id: user.id }).execute();
      const detail = { through, account: quote(subject) };
      await note({ actor: actorOf(user), action: 'account.connect', detail });
      return true;
    });
  }

  function userOf(subject: string): Promise<User | undefined> {
    return database.run((db) =>
      db
        .selectFrom('connect_identities as identity')
        .innerJoin('connect_users as user', 'user.id', 'identity.user_id')
        .select(['user.id', 'user.email', 'user.name'])
        .where('identity.subject', '=', subject)
        .executeTakeFirst(),
    );
  }

  return {
    session: sessions.find,
    signOut: sessions.end,

    /** A new session, or undefined where e-mail or password is wrong; both take the same time. */
    async signIn(email: string, password: string, client: Client): Promise<WithCookies | undefined> {
      const user = await database.run((db) => findUser(db, email.toLowerCase()));
      if (!(await verifyPassword(password, user?.password)) || !user) {
        await log.failed(email, client);
        return undefined;
      }
      return log.succeeded(user, client, (trx) => sessions.open(trx, user.id, client));
    },

    /** Ends all the user's sessions and makes a new one. Undefined where the current password is wrong. */
    async changePassword(
      { email }: User,
      current: string,
      next: string,
      client: Client,
    ): Promise<WithCookies | undefined> {
      const user = await database.run((db) => findUser(db, email));
      if (!(await verifyPassword(current, user?.password)) || !user) return undefined;
      const hash = await hashPassword(next);
      return audited(async (trx, note) => {
        // The one verified above may have been replaced meanwhile, because of a theft.
        if ((await findUser(trx, email))?.password !== user.password) return undefined;
        await setPassword(trx, user.id, hash);
        await note({ actor: actorOf(user), action: 'account.change_password', detail: {} });
        return sessions.open(trx, user.id, client);
      });
    },

    /** The provider's url, to sign in or, with a session's cookie, to connect; undefined where it is down. */
    async toProvider(cookie?: string): Promise<(WithCookies & { url: string }) | undefined> {
      const provider = await openProvider();
      return provider.leave(cookie && sessions.tokenIn(cookie));
    },

    /** The return, with this query, of a visitor who may be signed in as `current`. Rejects with `upstream_failed` where the provider fails. */
    async fromProvider(
      query: string,
      current: User | undefined,
      client: Client,
    ): Promise<WithCookies & { returned: ProviderOutcome }> {
      const provider = await openProvider();
      const token = current && sessions.tokenIn(client.cookie);
      const { connects, subject, cookies } = await provider.arrive(query, client.cookie, token);
      if (current && connects) {
        const connected = subject !== undefined && (await connect(current, subject));
        return { returned: connected ? 'connected' : 'not_connected', cookies };
      }
      const user = subject === undefined ? undefined : await userOf(subject);
      const origin = { address: client.address, through };
      if (!user) {
        await log.failed(undefined, origin);
        return { returned: 'not_signed_in', cookies };
      }
      const opened = await log.succeeded(user, origin, (trx) => sessions.open(trx, user.id, client));
      return { returned: 'signed_in', cookies: [...cookies, ...opened.cookies] };
    },
  };
}

async function findUser(
  db: Kysely<SiteTables>,
  email: string,
): Promise<(User & { password: string | null }) | undefined> {
  // Other texts are in no row, and not every one may be in a statement.
  if (!isEmail(email)) return undefined;
  return db.selectFrom('connect_users').selectAll().where('email', '=', email).executeTakeFirst();
}

/** Where a sign-in, or an attempt, comes from; `through` an identity provider, where it was not by password. */
type SignInOrigin = { address: string; through?: string };

/** Notes in the audit log who signed in, and who tried to. */
export function createSignInLog(audited: Audited) {
  // Nothing is ever deleted from the audit log: the next entry counts failures past these, 14,400 a day (3 MB) at most.
  const failures = createAttemptBudget(100, 600);
  let omitted = 0;

  /** Adds how many failures were left out since the last entry, and does what the entry is about. */
  async function note<T>(
    entry: { actor: string; action: 'account.sign_in' | 'account.sign_in_failed'; detail: object },
    work: (trx: Transaction<SiteTables>) => Promise<T>,
  ): Promise<T> {
    const noted = omitted;
    omitted = 0;
    const detail = { ...entry.detail, ...(noted > 0 && { not_noted: noted }) };
    try {
      return await audited(async (trx, note) => {
        await note({ ...entry, detail });
        return work(trx);
      });
    } catch (error) {
      omitted += noted;
      throw error;
    }
  }

  return {
    /** Opens a session in one transaction with the entry. */
    succeeded: <T>(user: User, origin: SignInOrigin, open: (trx: Transaction<SiteTables>) => Promise<T>) =>
      note({ actor: actorOf(user), action: 'account.sign_in', detail: originDetail(origin) }, open),
    /** `tried` is the e-mail that was typed. */
    async failed(tried: string | undefined, origin: SignInOrigin): Promise<void> {
      if ((await failures.consume('all')) > 0) {
        omitted += 1;
        return;
      }
      // Anybody can type anything: the e-mail is cut and quoted, and is no actor.
      const email = tried === undefined ? {} : { tried: quote(tried) };
      const { address, ...rest } = originDetail(origin);
      const entry = { actor: `address:${address}`, detail: { ...email, ...rest } };
      await note({ ...entry, action: 'account.sign_in_failed' }, async () => undefined);
    },
  };
}

function originDetail({ address, through }: SignInOrigin) {
  return { address: knownAddress(address), ...(through !== undefined && { through }) };
}

/** A proxy's header can hold anything in place of an address. */
function knownAddress(address: string): string {
  return isIP(address) === 0 ? 'unknown' : address;
}

/** How long a session lasts after its last renewal; it is renewed in use, once an hour at most. */
const sessionMs = 24 * 3_600_000;
const renewalMs = 3_600_000;
/** Of one account: successful sign-ins are not slowed down, and each leaves a row behind. */
const maxSessions = 20;
/** Characters of what a browser says that it is. */
const maxAgent = 300;

/** Who starts a session: their address, the browser's `User-Agent` and its `Cookie` header. */
type Client = { address: string; agent: string; cookie: string };

/** The cookie has a random token, the database its SHA-256 alone: a reader of a back-up can use no session. */
function createSessions({ database, secureCookies, now = Date.now }: SignInOptions) {
  const cookie = siteCookie('hg_session', secureCookies);

  async function endSession(db: Kysely<SiteTables>, header: string): Promise<void> {
    const id = hashSecret(cookie.read(header) ?? '');
    await db.deleteFrom('connect_sessions').where('id', '=', id).execute();
  }

  return {
    /** The token that a request's `Cookie` header has. */
    tokenIn: cookie.read,

    /** Starts a session in place of the one that the browser had, which would outlive the sign-out; returns its `Set-Cookie` value. */
    async open(
      trx: Transaction<SiteTables>,
      user_id: string,
      { address, agent, cookie: header }: Client,
    ): Promise<WithCookies> {
      const at = now();
      await endSession(trx, header);
      await pruneSessions(trx, user_id, at);
      const token = randomBytes(32).toString('base64url');
      const from = { address: knownAddress(address), agent: agent.slice(0, maxAgent) };
      const times = { created_at: at, seen_at: at, expires_at: at + sessionMs };
      const row = { id: hashSecret(token), user_id, ...times, ...from };
      await trx.insertInto('connect_sessions').values(row).execute();
      return { cookies: [cookie.set(token, sessionMs / 1000)] };
    },

    /** The session of a request; with a cookie where it was renewed. */
    async find(header: string): Promise<(WithCookies & { session: Session }) | undefined> {
      const token = cookie.read(header);
      if (token === undefined) return undefined;
      const [id, at] = [hashSecret(token), now()];
      const found = await database.run((db) =>
        db
          .selectFrom('connect_sessions as session')
          .innerJoin('connect_users as user', 'user.id', 'session.user_id')
          .select(['user.id', 'user.email', 'user.name', 'session.seen_at'])
          .where('session.id', '=', id)
          .where('session.expires_at', '>', at)
          .executeTakeFirst(),
      );
      if (!found) return undefined;
      const { seen_at, ...user } = found;
      if (at - seen_at < renewalMs) return { session: { id, user }, cookies: [] };
      const times = { seen_at: at, expires_at: at + sessionMs };
      await database.run((db) =>
        db.updateTable('connect_sessions').set(times).where('id', '=', id).execute(),
      );
      return { session: { id, user }, cookies: [cookie.set(token, sessionMs / 1000)] };
    },

    /** Ends the session of a request, and removes its cookie. */
    async end(header: string): Promise<WithCookies> {
      await database.run((db) => endSession(db, header));
      return { cookies: [cookie.set('', 0)] };
    },
  };
}

/** Deletes expired sessions, of very many some, and of this user all but the newest, so that there is room for one. */
async function pruneSessions(trx: Transaction<SiteTables>, userId: string, now: number): Promise<void> {
  const ids = trx.selectFrom('connect_sessions').select('id');
  const expired = ids.where('expires_at', '<=', now).limit(rowsPerTransaction);
  const newest = ids
    .where('user_id', '=', userId)
    .orderBy('expires_at', 'desc')
    .limit(maxSessions - 1);
  await trx
    .deleteFrom('connect_sessions')
    .where((eb) =>
      eb.or([eb('id', 'in', expired), eb.and([eb('user_id', '=', userId), eb('id', 'not in', newest)])]),
    )
    .execute();
}
