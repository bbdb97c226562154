import { randomBytes } from 'node:crypto';
import type { ExpressionBuilder, Transaction } from 'kysely';
import { hashSecret } from '../../keys/hash-secret.js';
import type { SiteDatabase } from '../database.js';
import type { InvitationRow, SiteTables } from '../tables.js';
import { newId } from './account.js';

const lifetimeMs = 7 * 86_400_000;
const mostShown = 200;

export type Invitation = Omit<InvitationRow, 'token_hash'>;

/** An invitation that can be taken up, with the tenant's name. */
export type Offer = Invitation & { tenant: string | null };

/** Links that make their holder a member of a tenant or an operator; once, for seven days. Here for reading. */
export interface Invitations {
  /** Those that can still be used, newest first; null asks for those of operators. */
  open(tenantId: string | null): Promise<Invitation[]>;
  find(token: string): Promise<Offer | undefined>;
}

export function createInvitations(database: SiteDatabase, now: () => number = Date.now): Invitations {
  return {
    async open(tenantId) {
      const rows = await database.run((db) =>
        db
          .selectFrom('connect_invitations')
          .selectAll()
          .where('tenant_id', tenantId === null ? 'is' : '=', tenantId)
          .where(usableAt(now()))
          .orderBy('created_at', 'desc')
          .limit(mostShown)
          .execute(),
      );
      return rows.map(withoutHash);
    },
    async find(token) {
      const row = await database.run((db) =>
        db
          .selectFrom('connect_invitations')
          .leftJoin('tenants', 'tenants.id', 'connect_invitations.tenant_id')
          .selectAll('connect_invitations')
          .select('tenants.name as tenant')
          .where('token_hash', '=', hashSecret(token))
          .where((eb) => usableAt(now())(eb))
          .executeTakeFirst(),
      );
      return row && withoutHash(row);
    },
  };
}

/** Adds an invitation and returns its token, which is known to the caller alone: the database has its hash. */
export async function addInvitation(
  trx: Transaction<SiteTables>,
  given: Pick<Invitation, 'tenant_id' | 'note' | 'created_by'>,
  now: number,
): Promise<string> {
  const token = randomBytes(24).toString('base64url');
  const times = { created_at: now, expires_at: now + lifetimeMs, used_at: null };
  await trx
    .insertInto('connect_invitations')
    .values({ id: newId(), token_hash: hashSecret(token), ...given, ...times })
    .execute();
  return token;
}

/** Marks it used, in the statement that checks that it is not: of two who take it up at once, one does. */
export async function takeInvitation(
  trx: Transaction<SiteTables>,
  token: string,
  now: number,
): Promise<Invitation | undefined> {
  const row = await trx
    .updateTable('connect_invitations')
    .set({ used_at: now })
    .where('token_hash', '=', hashSecret(token))
    .where(usableAt(now))
    .returningAll()
    .executeTakeFirst();
  return row && withoutHash(row);
}

/** Ends one of this tenant, or of the operators; false where it is not there, or was used. */
export async function cancelInvitation(
  trx: Transaction<SiteTables>,
  tenantId: string | null,
  id: string,
): Promise<boolean> {
  const { numDeletedRows } = await trx
    .deleteFrom('connect_invitations')
    .where('id', '=', id)
    .where('tenant_id', tenantId === null ? 'is' : '=', tenantId)
    .where('used_at', 'is', null)
    .executeTakeFirst();
  return numDeletedRows > 0n;
}

/**
 * Ends those that somebody made who was removed, and may have kept a link for themselves: to one tenant, or all where an operator
 * was removed.
 */
export async function endInvitationsBy(
  trx: Transaction<SiteTables>,
  email: string,
  tenantId: string | null,
): Promise<void> {
  let query = trx
    .deleteFrom('connect_invitations')
    .where('used_at', 'is', null)
    .where('created_by', '=', email);
  if (tenantId !== null) query = query.where('tenant_id', '=', tenantId);
  await query.execute();
}

/** Those that were not used, have not run out, and whose inviter may still invite. */
function usableAt(now: number) {
  return function usable(eb: ExpressionBuilder<SiteTables, 'connect_invitations'>) {
    const inviters = eb
      .selectFrom('connect_operators')
      .innerJoin('connect_users', 'connect_users.id', 'connect_operators.user_id')
      .select('connect_users.email');
    return eb.and([
      eb('connect_invitations.used_at', 'is', null),
      eb('connect_invitations.expires_at', '>', now),
      eb('connect_invitations.created_by', 'in', inviters),
    ]);
  };
}

function withoutHash<R extends InvitationRow>({ token_hash, ...invitation }: R): Omit<R, 'token_hash'> {
  return invitation;
}
