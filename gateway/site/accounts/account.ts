import { randomBytes, randomInt, type ScryptOptions, scrypt, timingSafeEqual } from 'node:crypto';
import { promisify } from 'node:util';
import type { Kysely, Transaction } from 'kysely';
import { quote } from '../../../schemas/quote.js';
import { isDuplicate } from '../../database/store-error.js';
import { GatewayError } from '../../errors.js';
import type { AuditEntry } from '../../keys/audit-text.js';
import { openAuditLog } from '../../keys/store.js';
import type { SiteDatabase, SiteTables } from '../tables.js';

/** Somebody with an account. */
export interface User {
  id: string;
  email: string;
  name: string;
}

/** A session that a request's cookie opens. */
export type Session = { id: string; user: User; secondFactor: boolean };

/** What an answer carries besides; `cookies` are `Set-Cookie` values. */
export type WithCookies = { cookies: string[] };

/** Hidden from scripts and other sites' forms; over https its name binds it to this host (RFC 6265bis, 4.1.3). */
export function siteCookie(plainName: string, secure: boolean) {
  const name = secure ? `__Host-${plainName}` : plainName;
  const sent = new RegExp(`(?:^|;\\s*)${name}=([\\w.-]+)(?=;|$)`);
  return {
    /** Its value in a request's `Cookie` header: letters, digits, `_`, `-` and `.`. */
    read: (header: string): string | undefined => sent.exec(header)?.[1],
    /** The `Set-Cookie` value; without `maxAge` (seconds) it ends with the browser. */
    set(value: string, maxAge?: number): string {
      const lasts = maxAge === undefined ? '' : ` Max-Age=${maxAge};`;
      return `${name}=${value}; Path=/;${lasts} HttpOnly; SameSite=Lax${secure ? '; Secure' : ''}`;
    },
  };
}

/** Who makes a change: somebody who is signed in, or by its audit name a program or command that has its right already. */
export type By = Pick<User, 'id' | 'email'> | string;

/** How the audit log names who makes a change. */
export function actorOf(by: Pick<User, 'email'> | string): string {
  return typeof by === 'string' ? by : `user:${by.email}`;
}

/** The people of one tenant, by its id, or the site's staff, who are null. */
export type Group = string | null;

/** What an entry of the audit log says of a group: of a tenant its id, and of the operators that it was they. */
export function groupSubject(group: Group, detail: Record<string, unknown>) {
  return { tenant_id: group, detail: group === null ? { ...detail, operator: true } : detail };
}

/** Notes who did what; of a tenant where one is named. */
export type NoteAudit = (
  entry: Pick<AuditEntry, 'actor' | 'action' | 'detail'> & { tenant_id?: string | null },
) => Promise<void>;

type AuditedWork<T> = (trx: Transaction<SiteTables>, note: NoteAudit) => Promise<T>;

export type Audited = ReturnType<typeof createAudited>;

/** Changes people and audits it in one transaction; `work` may run again: it may only use `trx` and `note`. */
export function createAudited(database: SiteDatabase, now: () => number = Date.now) {
  return <T>(work: AuditedWork<T>): Promise<T> =>
    database.change(async (trx) => {
      const append = await openAuditLog(trx, database.kind);
      return work(trx, (entry) => append({ at: now(), tenant_id: null, key_id: null, ...entry }));
    });
}

/** Adds an account; `password` is its hash. */
export async function addAccount(
  trx: Transaction<SiteTables>,
  { email, name, password }: Omit<User, 'id'> & { password: string },
): Promise<string> {
  const id = newId();
  await trx.insertInto('connect_users').values({ id, email: email.toLowerCase(), name, password }).execute();
  return id;
}

/** Gives an account a new password, and ends all its sessions and those about to be opened. */
export async function setPassword(trx: Transaction<SiteTables>, userId: string, hash: string): Promise<void> {
  await trx.updateTable('connect_users').set({ password: hash }).where('id', '=', userId).execute();
  for (const table of ['connect_sessions', 'connect_sign_ins'] as const)
    await trx.deleteFrom(table).where('user_id', '=', userId).execute();
}

/** Ends a user's second factor, with its recovery codes; undefined where they had none, else their e-mail. */
export async function endSecondFactor(
  trx: Transaction<SiteTables>,
  userId: string,
): Promise<string | undefined> {
  const ended = await trx
    .updateTable('connect_users')
    .set({ second_factor: null })
    .where('id', '=', userId)
    .where('second_factor', 'is not', null)
    .returning('email')
    .executeTakeFirst();
  await trx.deleteFrom('connect_recovery_codes').where('user_id', '=', userId).execute();
  return ended?.email;
}

export function newId(): string {
  return randomBytes(16).toString('base64url');
}

/** scrypt with the 32 MB that better-auth took, whose hashes are still here; `salt:key` in hexadecimal, where the salt's text is what counts. */
export async function hashPassword(password: string): Promise<string> {
  const salt = randomBytes(16).toString('hex');
  return `${salt}:${(await deriveKey(password, salt)).toString('hex')}`;
}

/** As slow where there is no hash, because there is no such account. */
export async function verifyPassword(password: string, hash: string | null | undefined): Promise<boolean> {
  const [salt = '', key = ''] = hash?.split(':') ?? [];
  const [right, given] = [Buffer.from(key, 'hex'), await deriveKey(password, salt)];
  return right.length === given.length && timingSafeEqual(right, given);
}

function deriveKey(password: string, salt: string): Promise<Buffer> {
  const cost = { N: 16_384, r: 16, p: 1, maxmem: 64 * 2 ** 20 };
  return promisify<string, string, number, ScryptOptions, Buffer>(scrypt)(
    password.normalize('NFKC'),
    salt,
    64,
    cost,
  );
}

/** With a password to be printed now: it is stored nowhere. */
type Credentials = { email: string; password: string };

/** What the first operator signs in with, until they invite others under their own addresses. */
export const firstOperatorEmail = 'operator@gateway.local';

/** Makes the first operator where there is none; of several gateways that start at once, one does it. */
export async function createFirstOperator(
  database: SiteDatabase,
  now: () => number = Date.now,
): Promise<Credentials | undefined> {
  if (await database.run(hasOperators)) return undefined;
  const password = createPassword();
  const hash = await hashPassword(password);
  try {
    const added = await database.change(async (trx) => {
      if (await hasOperators(trx)) return false;
      const user_id = await addAccount(trx, { email: firstOperatorEmail, name: 'Operator', password: hash });
      await trx.insertInto('connect_operators').values({ user_id, created_at: now() }).execute();
      return true;
    });
    return added ? { email: firstOperatorEmail, password } : undefined;
  } catch (error) {
    // The e-mail is unique, so on PostgreSQL the slower of two gateways ends up here.
    if (isDuplicate(error) && (await database.run(hasOperators))) return undefined;
    throw error;
  }
}

/** Gives an operator, by default the oldest, a new password and ends sessions and second factor: for who has the database alone. */
export async function resetOperator(
  database: SiteDatabase,
  email: string | undefined,
  actor: string,
  now: () => number = Date.now,
): Promise<Credentials> {
  const password = createPassword();
  const hash = await hashPassword(password);
  const found = await createAudited(
    database,
    now,
  )(async (trx, note) => {
    let query = trx
      .selectFrom('connect_operators')
      .innerJoin('connect_users', 'connect_users.id', 'connect_operators.user_id')
      .select(['connect_users.id', 'connect_users.email']);
    if (email !== undefined) query = query.where('connect_users.email', '=', email.toLowerCase());
    const operator = await query.orderBy('connect_operators.created_at').executeTakeFirst();
    if (!operator) return undefined;
    await setPassword(trx, operator.id, hash);
    const had = await endSecondFactor(trx, operator.id);
    const detail = { email: operator.email, ...(had !== undefined && { second_factor: 'ended' }) };
    await note({ actor, action: 'operator.reset', detail });
    return operator;
  });
  if (found) return { email: found.email, password };
  const message = email
    ? `There is no operator ${quote(email)}.`
    : 'There is no operator yet; start the gateway once.';
  throw new GatewayError('not_found', { message });
}

async function hasOperators(db: Kysely<SiteTables>): Promise<boolean> {
  const operators = db.selectFrom('connect_operators').select('user_id').limit(1);
  return (await operators.executeTakeFirst()) !== undefined;
}

/** Without what is read or typed wrongly (l, i, 1, o, 0); 20 of them are 99 random bits, 16 are 79. */
const alphabet = 'abcdefghjkmnpqrstuvwxyz23456789';

const createPassword = () => randomLetters(20, 5);

/** Random letters and digits for people, in groups. */
export function randomLetters(count: number, group: number): string {
  const letters = Array.from({ length: count }, () => alphabet[randomInt(alphabet.length)]);
  return letters.map((letter, at) => (at > 0 && at % group === 0 ? `-${letter}` : letter)).join('');
}
