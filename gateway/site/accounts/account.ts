import { randomBytes } from 'node:crypto';
import type { Transaction } from 'kysely';
import type { SiteTables } from '../tables.js';
import type { User } from './session.js';

/**
 * Adds an account with a password, in the rows that better-auth reads: beside the membership and the invitation's use in
 * one transaction, which better-auth's own sign-up cannot take part in. `hash` is from `better-auth/crypto`.
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

/** A moment as better-auth keeps it in a column. */
export function momentOf(kind: 'sqlite' | 'postgres', at: number): string | Date {
  return kind === 'postgres' ? new Date(at) : new Date(at).toISOString();
}
