import { createHash, randomBytes } from 'node:crypto';
import { hashPassword } from 'better-auth/crypto';
import type { ExpressionBuilder, Transaction } from 'kysely';
import { type ConnectDatabase, isDuplicate } from '../database.js';
import type { ConnectTables, InvitationRow } from '../tables.js';
import { addAccount, newId } from './account.js';

const LIFETIME_MS = 7 * 86_400_000;

export type Invitation = Omit<InvitationRow, 'token_hash'>;

export interface NewAccount {
  email: string;
  name: string;
  password: string;
}

/** What came of taking up an invitation. */
export type Joined =
  | { state: 'joined'; userId: string; invitation: Invitation }
  /** Used, cancelled, run out, of somebody who is no operator any more, or never made: nobody is told which. */
  | { state: 'invalid' }
  /** There is an account with this e-mail: sign in first. */
  | { state: 'email_taken' };

/** Links that make their holder a member of a tenant or, where `tenant_id` is null, an operator; once, for seven days. */
export interface Invitations {
  /** `token` is shown this once; the database has its hash. */
  invite(given: Pick<Invitation, 'tenant_id' | 'note' | 'created_by'>): Promise<{ token: string }>;
  /** Those that can still be used, newest first. */
  open(tenantId: string | null): Promise<Invitation[]>;
  cancel(tenantId: string | null, id: string): Promise<boolean>;
  /** One that can be used, with the tenant's name. */
  find(token: string): Promise<(Invitation & { tenant: string | null }) | undefined>;
  /** Takes up an invitation with a new account. */
  joinAs(token: string, account: NewAccount): Promise<Joined>;
  /** Takes up an invitation with the account that is signed in. */
  join(token: string, userId: string): Promise<Joined>;
}

export function createInvitations(database: ConnectDatabase, now: () => number = Date.now): Invitations {
  /** Those that were not used, have not run out, and whose inviter may still invite. */
  function usable(eb: ExpressionBuilder<ConnectTables, 'connect_invitations'>) {
    const inviters = eb
      .selectFrom('connect_operators')
      .innerJoin('connect_users', 'connect_users.id', 'connect_operators.user_id')
      .select('connect_users.email');
    return eb.and([
      eb('connect_invitations.used_at', 'is', null),
      eb('connect_invitations.expires_at', '>', now()),
      eb('connect_invitations.created_by', 'in', inviters),
    ]);
  }

  /** Marks it used, in the statement that checks that it is not: of two who take it up at once, one does. */
  async function take(trx: Transaction<ConnectTables>, token: string): Promise<Invitation | undefined> {
    const row = await trx
      .updateTable('connect_invitations')
      .set({ used_at: now() })
      .where('token_hash', '=', hashOf(token))
      .where(usable)
      .returningAll()
      .executeTakeFirst();
    return row && invitationOf(row);
  }

  async function enter(trx: Transaction<ConnectTables>, { tenant_id }: Invitation, user_id: string) {
    const created_at = now();
    if (tenant_id === null) {
      await trx
        .insertInto('connect_operators')
        .values({ user_id, created_at })
        .onConflict((conflict) => conflict.doNothing())
        .execute();
    } else {
      await trx
        .insertInto('connect_members')
        .values({ tenant_id, user_id, created_at })
        .onConflict((conflict) => conflict.doNothing())
        .execute();
    }
  }

  return {
    async invite({ tenant_id, note, created_by }) {
      const token = randomBytes(24).toString('base64url');
      const row: InvitationRow = {
        id: newId(),
        token_hash: hashOf(token),
        tenant_id,
        note,
        created_by,
        created_at: now(),
        expires_at: now() + LIFETIME_MS,
        used_at: null,
      };
      await database.run((db) => db.insertInto('connect_invitations').values(row).execute());
      return { token };
    },
    async open(tenantId) {
      const rows = await database.run((db) =>
        db
          .selectFrom('connect_invitations')
          .selectAll()
          .where('tenant_id', tenantId === null ? 'is' : '=', tenantId)
          .where(usable)
          .orderBy('created_at', 'desc')
          .limit(200)
          .execute(),
      );
      return rows.map(invitationOf);
    },
    async cancel(tenantId, id) {
      const result = await database.run((db) =>
        db
          .deleteFrom('connect_invitations')
          .where('id', '=', id)
          .where('tenant_id', tenantId === null ? 'is' : '=', tenantId)
          .where('used_at', 'is', null)
          .executeTakeFirst(),
      );
      return result.numDeletedRows > 0n;
    },
    async find(token) {
      const row = await database.run((db) =>
        db
          .selectFrom('connect_invitations')
          .leftJoin('tenants', 'tenants.id', 'connect_invitations.tenant_id')
          .selectAll('connect_invitations')
          .select('tenants.name as tenant')
          .where('token_hash', '=', hashOf(token))
          .where((eb) => usable(eb))
          .executeTakeFirst(),
      );
      return row && { ...invitationOf(row), tenant: row.tenant };
    },
    async joinAs(token, { password, ...account }) {
      const hash = await hashPassword(password);
      try {
        return await database.change(async (trx): Promise<Joined> => {
          const invitation = await take(trx, token);
          if (!invitation) return { state: 'invalid' };
          const userId = await addAccount(trx, database.kind, { ...account, hash }, now());
          await enter(trx, invitation, userId);
          return { state: 'joined', userId, invitation };
        });
      } catch (error) {
        if (isDuplicate(error)) return { state: 'email_taken' };
        throw error;
      }
    },
    async join(token, userId) {
      return database.change(async (trx): Promise<Joined> => {
        const invitation = await take(trx, token);
        if (!invitation) return { state: 'invalid' };
        await enter(trx, invitation, userId);
        return { state: 'joined', userId, invitation };
      });
    },
  };
}

function hashOf(token: string): string {
  return createHash('sha256').update(token).digest('hex');
}

/** PostgreSQL hands out its 64-bit integers as text where the driver is not told otherwise. */
function invitationOf(row: InvitationRow): Invitation {
  const { id, tenant_id, note, created_by, used_at } = row;
  return {
    id,
    tenant_id,
    note,
    created_by,
    created_at: Number(row.created_at),
    expires_at: Number(row.expires_at),
    used_at: used_at === null ? null : Number(used_at),
  };
}
