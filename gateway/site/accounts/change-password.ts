import type { Kysely } from 'kysely';
import type { SiteDatabase } from '../database.js';
import type { SiteTables } from '../tables.js';
import { setPassword } from './account.js';
import type { Audited } from './audited.js';
import { hashPassword, verifyPassword } from './password-hash.js';
import { actorOf, type User } from './session.js';

/**
 * Changes a password and ends all sessions of the user; false where `current` is wrong. Here and not by better-auth, whose
 * change cannot be in one transaction with its entry in the audit log.
 */
export async function changePassword(
  { database, audited }: { database: SiteDatabase; audited: Audited },
  user: User,
  current: string,
  next: string,
): Promise<boolean> {
  const known = await database.run((db) => passwordHash(db, user.id));
  if (!known || !(await verifyPassword({ hash: known, password: current }))) return false;
  const hash = await hashPassword(next);
  return audited(async (trx, note) => {
    // What was judged above may have been replaced meanwhile, by who knows of a theft.
    if ((await passwordHash(trx, user.id)) !== known) return false;
    await setPassword(trx, database.kind, user.id, hash, Date.now());
    await note({ actor: actorOf(user), action: 'account.change_password', detail: {} });
    return true;
  });
}

async function passwordHash(db: Kysely<SiteTables>, userId: string): Promise<string | null> {
  const row = await db
    .selectFrom('connect_accounts')
    .select('password')
    .where('userId', '=', userId)
    .where('providerId', '=', 'credential')
    .executeTakeFirst();
  return row?.password ?? null;
}
