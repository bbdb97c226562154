import { randomBytes } from 'node:crypto';
import type { Transaction } from 'kysely';
import type { AuditEntry } from '../../keys/model.js';
import { openAuditLog } from '../../keys/store.js';
import type { SiteDatabase, SiteTables } from '../tables.js';

/** Somebody with an account. */
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
export interface WithCookies {
  cookies: string[];
}

/** How the audit log names somebody who is signed in. */
export function actorOf({ email }: Pick<User, 'email'>): string {
  return `user:${email}`;
}

/** The people of one tenant, by its id, or the operators, who are null. */
export type Group = string | null;

/** What an entry of the audit log says of a group: of a tenant its id, and of the operators that it was they. */
export function groupSubject(group: Group, detail: Record<string, unknown>) {
  return { tenant_id: group, detail: group === null ? { ...detail, operator: true } : detail };
}

/** Notes who did what; of a tenant where one is named. */
export type NoteAudit = (
  entry: Pick<AuditEntry, 'actor' | 'action' | 'detail'> & { tenant_id?: string | null },
) => Promise<void>;

/**
 * Makes a change to people and notes it in the audit log, both in one transaction: one cannot be without the other. The
 * work may run more than once, so it must do nothing but use `trx` and `note`.
 */
export type Audited = <T>(work: (trx: Transaction<SiteTables>, note: NoteAudit) => Promise<T>) => Promise<T>;

export function createAudited(database: SiteDatabase, now: () => number = Date.now): Audited {
  return function audited(work) {
    return database.change(async (trx) => {
      const append = await openAuditLog(trx, database.kind);
      return work(trx, ({ tenant_id = null, ...entry }) =>
        append({ at: now(), tenant_id, key_id: null, ...entry }),
      );
    });
  };
}

/**
 * Adds an account with a password, in the rows that better-auth reads: beside the membership and the invitation's use in
 * one transaction, which better-auth's own sign-up cannot join. `hash` is from `better-auth/crypto`.
 */
export async function addAccount(
  trx: Transaction<SiteTables>,
  kind: 'sqlite' | 'postgres',
  account: Omit<User, 'id'> & { hash: string },
  at: number,
): Promise<string> {
  const id = newId();
  const moment = momentOf(kind, at);
  const times = { createdAt: moment, updatedAt: moment };
  const { email, name, hash } = account;
  await trx
    .insertInto('connect_users')
    .values({
      id,
      email: email.toLowerCase(),
      name,
      emailVerified: kind === 'postgres' ? false : 0,
      ...times,
    })
    .execute();
  await trx
    .insertInto('connect_accounts')
    .values({ id: newId(), accountId: id, providerId: 'credential', userId: id, password: hash, ...times })
    .execute();
  return id;
}

/** Gives an account a new password and ends all its sessions. */
export async function setPassword(
  trx: Transaction<SiteTables>,
  kind: 'sqlite' | 'postgres',
  userId: string,
  hash: string,
  at: number,
): Promise<void> {
  await trx
    .updateTable('connect_accounts')
    .set({ password: hash, updatedAt: momentOf(kind, at) })
    .where('userId', '=', userId)
    .where('providerId', '=', 'credential')
    .execute();
  await trx.deleteFrom('connect_sessions').where('userId', '=', userId).execute();
}

export function newId(): string {
  return randomBytes(16).toString('base64url');
}

/** A moment as better-auth stores it. */
export function momentOf(kind: 'sqlite' | 'postgres', at: number): string | Date {
  return kind === 'postgres' ? new Date(at) : new Date(at).toISOString();
}

/** better-auth's hashes of passwords, which are slow to load and seldom needed. */
const loadCrypto = () => import('better-auth/crypto');

export async function hashPassword(password: string): Promise<string> {
  return (await loadCrypto()).hashPassword(password);
}

export async function verifyPassword(given: { hash: string; password: string }): Promise<boolean> {
  return (await loadCrypto()).verifyPassword(given);
}
