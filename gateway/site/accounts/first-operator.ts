import { randomInt } from 'node:crypto';
import type { Kysely } from 'kysely';
import { quote } from '../../../schemas/quote.js';
import { isDuplicate } from '../../database/store-error.js';
import { GatewayError } from '../../errors.js';
import type { SiteDatabase, SiteTables } from '../tables.js';
import { addAccount, createAudited, hashPassword, setPassword } from './account.js';

export interface Credentials {
  email: string;
  /** To be printed now: it is stored nowhere. */
  password: string;
}

/** What the first operator signs in with, until they invite others under their own addresses. */
export const firstOperatorEmail = 'operator@gateway.local';

/**
 * Makes the first operator where there is none; otherwise returns undefined. Of several gateways that start at once on one
 * database, one does it.
 */
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
      const user = { email: firstOperatorEmail, name: 'Operator', hash };
      const user_id = await addAccount(trx, database.kind, user, now());
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

/**
 * Restores access for somebody with the database but not the site: gives an operator a new password and ends their
 * sessions. Without an e-mail it is the one who has been operator for longest. `not_found` where there is no such operator.
 * `actor` says who it was, for the audit log, e.g. `cli:root`.
 */
export async function resetOperator(
  database: SiteDatabase,
  email: string | undefined,
  actor: string,
  now: () => number = Date.now,
): Promise<Credentials> {
  const password = createPassword();
  const hash = await hashPassword(password);
  const audited = createAudited(database, now);
  const found = await audited(async (trx, note) => {
    let query = trx
      .selectFrom('connect_operators')
      .innerJoin('connect_users', 'connect_users.id', 'connect_operators.user_id')
      .select(['connect_users.id', 'connect_users.email']);
    if (email !== undefined) query = query.where('connect_users.email', '=', email.toLowerCase());
    const operator = await query.orderBy('connect_operators.created_at').executeTakeFirst();
    if (!operator) return undefined;
    await setPassword(trx, database.kind, operator.id, hash, now());
    await note({ actor, action: 'operator.reset', detail: { email: operator.email } });
    return operator;
  });
  if (!found) {
    throw new GatewayError('not_found', {
      message: email
        ? `There is no operator ${quote(email)}.`
        : 'There is no operator yet; start the gateway once.',
    });
  }
  return { email: found.email, password };
}

async function hasOperators(db: Kysely<SiteTables>): Promise<boolean> {
  return (
    (await db.selectFrom('connect_operators').select('user_id').limit(1).executeTakeFirst()) !== undefined
  );
}

/** Without what is read or typed wrongly (l, i, 1, o, 0); 20 of them are 99 random bits. */
const alphabet = 'abcdefghjkmnpqrstuvwxyz23456789';

function createPassword(): string {
  const letters = Array.from({ length: 20 }, () => alphabet[randomInt(alphabet.length)]).join('');
  return letters.match(/.{5}/g)?.join('-') ?? letters;
}
