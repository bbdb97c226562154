import { randomInt } from 'node:crypto';
import { hashPassword } from 'better-auth/crypto';
import { GatewayError } from '../../errors.js';
import { type ConnectDatabase, isDuplicate } from '../database.js';
import { addAccount, resetPassword } from './account.js';

export interface Credentials {
  email: string;
  /** To be printed now: it is kept nowhere. */
  password: string;
}

/** What the first operator signs in with, until they invite others under their own addresses. */
export const FIRST_OPERATOR = 'operator@gateway.local';

/**
 * Makes the first operator where there is none; otherwise returns undefined. Of several gateways that start at once on one
 * database, one does it.
 */
export async function createFirstOperator(
  database: ConnectDatabase,
  now: () => number = Date.now,
): Promise<Credentials | undefined> {
  if (await hasOperators(database)) return undefined;
  const password = createPassword();
  const hash = await hashPassword(password);
  try {
    const added = await database.change(async (trx) => {
      if (await trx.selectFrom('connect_operators').select('user_id').limit(1).executeTakeFirst()) {
        return false;
      }
      const user = { email: FIRST_OPERATOR, name: 'Operator', hash };
      const user_id = await addAccount(trx, database.kind, user, now());
      await trx.insertInto('connect_operators').values({ user_id, created_at: now() }).execute();
      return true;
    });
    return added ? { email: FIRST_OPERATOR, password } : undefined;
  } catch (error) {
    // The e-mail is unique, so on PostgreSQL the slower of two gateways ends up here.
    if (isDuplicate(error) && (await hasOperators(database))) return undefined;
    throw error;
  }
}

/**
 * The way back in for who can reach the database but not the site: gives an operator a new password and ends their
 * sessions. Without an e-mail it is the one who has been operator for longest. `not_found` where there is no such operator.
 */
export async function resetOperator(
  database: ConnectDatabase,
  email?: string,
  now: () => number = Date.now,
): Promise<Credentials> {
  const password = createPassword();
  const hash = await hashPassword(password);
  const found = await database.change(async (trx) => {
    let query = trx
      .selectFrom('connect_operators')
      .innerJoin('connect_users', 'connect_users.id', 'connect_operators.user_id')
      .select(['connect_users.id', 'connect_users.email']);
    if (email !== undefined) query = query.where('connect_users.email', '=', email.toLowerCase());
    const operator = await query.orderBy('connect_operators.created_at').executeTakeFirst();
    if (operator) await resetPassword(trx, database.kind, operator.id, hash, now());
    return operator;
  });
  if (!found) {
    throw new GatewayError('not_found', {
      message: email ? `There is no operator ${email}.` : 'There is no operator yet; start the gateway once.',
    });
  }
  return { email: found.email, password };
}

async function hasOperators(database: ConnectDatabase): Promise<boolean> {
  const found = await database.run((db) =>
    db.selectFrom('connect_operators').select('user_id').limit(1).executeTakeFirst(),
  );
  return found !== undefined;
}

/** Without what is read or typed wrongly (l, i, 1, o, 0); 20 of them are 99 random bits. */
const ALPHABET = 'abcdefghjkmnpqrstuvwxyz23456789';

function createPassword(): string {
  const letters = Array.from({ length: 20 }, () => ALPHABET[randomInt(ALPHABET.length)]).join('');
  return letters.match(/.{5}/g)?.join('-') ?? letters;
}
