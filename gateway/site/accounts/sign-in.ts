import type { Kysely, Transaction } from 'kysely';
import type { Logger } from 'pino';
import { once } from '../../../pool/concurrency.js';
import { quote } from '../../../schemas/quote.js';
import { GatewayError, inputError } from '../../errors.js';
import type { SiteDatabase, SiteTables } from '../tables.js';
import {
  type Audited,
  actorOf,
  createAudited,
  hashPassword,
  setPassword,
  type User,
  verifyPassword,
  type WithCookies,
} from './account.js';
import { isEmail } from './passwords.js';
import type { OidcOptions } from './provider.js';
import type { SecondFactor } from './second-factor.js';
import { type Client, createSessions } from './sessions.js';
import { createAttemptBudget, knownAddress } from './throttle.js';

interface SignInOptions {
  database: SiteDatabase;
  /** Signs what a visit to the provider needs. */
  secret: string;
  baseUrl: string;
  /** Whether cookies go over https alone. */
  secureCookies: boolean;
  factor: Pick<SecondFactor, 'pass'>;
  oidc?: OidcOptions | undefined;
  logger: Pick<Logger, 'warn'>;
  now?: (() => number) | undefined;
}

/** The outcome of a visit to the provider: to sign in, or to connect an account. */
export type ProviderOutcome = 'signed_in' | 'not_signed_in' | 'connected' | 'not_connected';

export type SignIn = ReturnType<typeof createSignIn>;

/** Signing in by password or through an identity provider; sign-ins, failed ones too, and changes are audited. */
export function createSignIn(options: SignInOptions) {
  const { database, oidc, factor } = options;
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
    sessions,

    /**
     * A new session, or undefined where e-mail or password is wrong; both take the same time. With a second factor there is
     * no session yet, but the token by which `enterCode` goes on.
     */
    async signIn(
      email: string,
      password: string,
      client: Client,
    ): Promise<(WithCookies & { held?: string }) | undefined> {
      const user = await database.run((db) => findUser(db, email.toLowerCase()));
      if (!(await verifyPassword(password, user?.password)) || !user) {
        await log.failed(email, client);
        return undefined;
      }
      if (user.second_factor !== null) return { cookies: [], held: await sessions.hold(user.id) };
      return log.succeeded(user, client, (trx) => sessions.open(trx, user.id, client));
    },

    /** Goes on with the sign-in of `user` that a token holds; undefined where the code is wrong or was used. */
    async enterCode(
      user: User,
      held: string,
      code: string,
      client: Client,
    ): Promise<WithCookies | undefined> {
      if (!(await factor.pass(user, code))) {
        await log.failed(user.email, { ...client, second_factor: true });
        return undefined;
      }
      return log.succeeded(user, client, async (trx) => {
        if (!(await sessions.release(trx, held))) throw new GatewayError('unauthorized');
        return sessions.open(trx, user.id, client);
      });
    },

    /** Whether it is the user's password. */
    async verify({ email }: User, password: string): Promise<boolean> {
      const user = await database.run((db) => findUser(db, email));
      return verifyPassword(password, user?.password);
    },

    /** Changes name and e-mail, which the user's invitations follow; `invalid_input` where the e-mail is taken. */
    async rename(user: User, { name, email }: Pick<User, 'name' | 'email'>): Promise<void> {
      if (name === user.name && email === user.email) return;
      await audited(async (trx, note) => {
        const owner = await findUser(trx, email);
        if (owner && owner.id !== user.id)
          throw inputError([{ field: 'email', problem: 'is that of another account' }]);
        await trx.updateTable('connect_users').set({ name, email }).where('id', '=', user.id).execute();
        const invitations = trx.updateTable('connect_invitations').set({ created_by: email });
        await invitations.where('created_by', '=', user.email).execute();
        const detail = { name, ...(email !== user.email && { email, before: user.email }) };
        await note({ actor: actorOf(user), action: 'account.rename', detail });
      });
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
): Promise<(User & { password: string | null; second_factor: string | null }) | undefined> {
  // Other texts are in no row, and not every one may be in a statement.
  if (!isEmail(email)) return undefined;
  return db.selectFrom('connect_users').selectAll().where('email', '=', email).executeTakeFirst();
}

/** Where a sign-in, or an attempt, comes from; `through` an identity provider, where it was not by password. */
type SignInOrigin = { address: string; through?: string; second_factor?: boolean };

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

function originDetail({ address, through, second_factor }: SignInOrigin) {
  return {
    address: knownAddress(address),
    ...(through !== undefined && { through }),
    ...(second_factor && { second_factor }),
  };
}
