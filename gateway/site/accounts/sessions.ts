import { randomBytes } from 'node:crypto';
import type { Kysely, Transaction } from 'kysely';
import { rowsPerTransaction } from '../../database/rows.js';
import { hashSecret } from '../../keys/model.js';
import type { SiteDatabase, SiteTables } from '../tables.js';
import { actorOf, createAudited, type Session, siteCookie, type User, type WithCookies } from './account.js';
import { knownAddress } from './throttle.js';

/** How long a session lasts after its last renewal; it is renewed in use, once an hour at most. */
const sessionMs = 24 * 3_600_000;
const renewalMs = 3_600_000;
/** How long a sign-in waits for its code. */
const heldMs = 600_000;
/** Of one account: successful sign-ins are not slowed down, and each leaves a row behind. */
const maxSessions = 20;
/** Characters of what a browser says that it is. */
const maxAgent = 300;

interface SessionOptions {
  database: SiteDatabase;
  /** Whether the cookie goes over https alone. */
  secureCookies: boolean;
  now?: (() => number) | undefined;
}

/** Who starts a session: their address, the browser's `User-Agent` and its `Cookie` header. */
export type Client = { address: string; agent: string; cookie: string };

/** The cookie has a random token, the database its SHA-256 alone: a reader of a back-up can use no session. */
export function createSessions({ database, secureCookies, now = Date.now }: SessionOptions) {
  const cookie = siteCookie('hg_session', secureCookies);
  const audited = createAudited(database, now);

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
          .select(['user.id', 'user.email', 'user.name', 'user.second_factor', 'session.seen_at'])
          .where('session.id', '=', id)
          .where('session.expires_at', '>', at)
          .executeTakeFirst(),
      );
      if (!found) return undefined;
      const { seen_at, second_factor, ...user } = found;
      const session = { id, user, secondFactor: second_factor !== null };
      if (at - seen_at < renewalMs) return { session, cookies: [] };
      const times = { seen_at: at, expires_at: at + sessionMs };
      await database.run((db) =>
        db.updateTable('connect_sessions').set(times).where('id', '=', id).execute(),
      );
      return { session, cookies: [cookie.set(token, sessionMs / 1000)] };
    },

    /** A user's sessions, the one in use last first. */
    of: (userId: string) =>
      database.run((db) =>
        db
          .selectFrom('connect_sessions')
          .select(['id', 'created_at', 'seen_at', 'address', 'agent'])
          .where('user_id', '=', userId)
          .where('expires_at', '>', now())
          .orderBy('seen_at', 'desc')
          .execute(),
      ),

    /** Ends one of a user's own sessions, elsewhere as a rule. */
    endOne: (user: User, id: string): Promise<void> =>
      audited(async (trx, note) => {
        const sessions = trx.deleteFrom('connect_sessions').where('user_id', '=', user.id);
        const ended = await sessions.where('id', '=', id).returning(['address', 'agent']).executeTakeFirst();
        if (ended) await note({ actor: actorOf(user), action: 'account.end_session', detail: { ...ended } });
      }),

    /** Holds a sign-in whose password was right until its code comes; answers with the token that goes on with it. */
    async hold(user_id: string): Promise<string> {
      const [token, at] = [randomBytes(32).toString('base64url'), now()];
      await database.run(async (db) => {
        await db.deleteFrom('connect_sign_ins').where('expires_at', '<=', at).execute();
        const row = { id: hashSecret(token), user_id, expires_at: at + heldMs };
        await db.insertInto('connect_sign_ins').values(row).execute();
      });
      return token;
    },

    /** Whose sign-in a token holds. */
    held: (token: string): Promise<User | undefined> =>
      database.run((db) =>
        db
          .selectFrom('connect_sign_ins as held')
          .innerJoin('connect_users as user', 'user.id', 'held.user_id')
          .select(['user.id', 'user.email', 'user.name'])
          .where('held.id', '=', hashSecret(token))
          .where('held.expires_at', '>', now())
          .executeTakeFirst(),
      ),

    /** Ends what a token holds; false where it is gone, as after a change of the password. */
    async release(trx: Transaction<SiteTables>, token: string): Promise<boolean> {
      const held = trx.deleteFrom('connect_sign_ins').where('id', '=', hashSecret(token));
      return (await held.executeTakeFirstOrThrow()).numDeletedRows === 1n;
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
