import type { Transaction } from 'kysely';
import type { ConnectDatabase } from '../database.js';
import type { ConnectTables } from '../tables.js';

export interface Person {
  id: string;
  email: string;
  name: string;
  /** When they joined, ms since 1970. */
  since: number;
}

/** What a signed-in user may enter. */
export interface Rights {
  operator: boolean;
  /** The tenants that they are a member of, by name. */
  tenants: { id: string; name: string }[];
}

/** Who is an operator, and who a member of which tenant. */
export interface People {
  rights(userId: string): Promise<Rights>;
  operators(): Promise<Person[]>;
  members(tenantId: string): Promise<Person[]>;
  /** Ends the invitations that they made, too. False where they are no operator, or the last one. */
  removeOperator(userId: string): Promise<boolean>;
  /** Ends the invitations to this tenant that they made, too. */
  removeMember(tenantId: string, userId: string): Promise<boolean>;
  /** Names of tenants by id. */
  tenantNames(ids: readonly string[]): Promise<Map<string, string>>;
}

/**
 * Memberships in tables of the site's own. better-auth's organisations proved unfit: they would be a second list of
 * tenants to be kept in step with the first, an invitation there is opened by its row's id, which the database holds
 * in clear, and it can be taken up only by who has an account already, which here nobody may make for themselves.
 */
export function createPeople(database: ConnectDatabase): People {
  return {
    async rights(userId) {
      const [operator, tenants] = await Promise.all([
        database.run((db) =>
          db
            .selectFrom('connect_operators')
            .select('user_id')
            .where('user_id', '=', userId)
            .executeTakeFirst(),
        ),
        database.run((db) =>
          db
            .selectFrom('connect_members as role')
            .innerJoin('tenants', 'tenants.id', 'role.tenant_id')
            .select(['tenants.id', 'tenants.name'])
            .where('role.user_id', '=', userId)
            .orderBy('tenants.name')
            .execute(),
        ),
      ]);
      return { operator: operator !== undefined, tenants };
    },
    async operators() {
      const rows = await database.run((db) =>
        db
          .selectFrom('connect_operators as role')
          .innerJoin('connect_users as user', 'user.id', 'role.user_id')
          .select(['user.id', 'user.email', 'user.name', 'role.created_at as since'])
          .orderBy('role.created_at')
          .execute(),
      );
      return rows.map(personOf);
    },
    async members(tenantId) {
      const rows = await database.run((db) =>
        db
          .selectFrom('connect_members as role')
          .innerJoin('connect_users as user', 'user.id', 'role.user_id')
          .select(['user.id', 'user.email', 'user.name', 'role.created_at as since'])
          .where('role.tenant_id', '=', tenantId)
          .orderBy('role.created_at')
          .execute(),
      );
      return rows.map(personOf);
    },
    async removeOperator(userId) {
      return database.change(async (trx) => {
        // Locked, or two operators who remove each other at the same moment leave none.
        const rows = trx.selectFrom('connect_operators').select('user_id');
        const all = await (database.kind === 'postgres' ? rows.forUpdate() : rows).execute();
        if (all.length < 2 || !all.some((row) => row.user_id === userId)) return false;
        await trx.deleteFrom('connect_operators').where('user_id', '=', userId).execute();
        await endInvitations(trx, userId).execute();
        return true;
      });
    },
    async removeMember(tenantId, userId) {
      return database.change(async (trx) => {
        const { numDeletedRows } = await trx
          .deleteFrom('connect_members')
          .where('tenant_id', '=', tenantId)
          .where('user_id', '=', userId)
          .executeTakeFirst();
        await endInvitations(trx, userId).where('tenant_id', '=', tenantId).execute();
        return numDeletedRows > 0n;
      });
    },
    async tenantNames(ids) {
      if (ids.length === 0) return new Map();
      const rows = await database.run((db) =>
        db
          .selectFrom('tenants')
          .select(['id', 'name'])
          .where('id', 'in', [...ids])
          .execute(),
      );
      return new Map(rows.map(({ id, name }) => [id, name]));
    },
  };
}

/** Who was removed may have kept the link of an invitation for themselves. */
function endInvitations(trx: Transaction<ConnectTables>, userId: string) {
  return trx
    .deleteFrom('connect_invitations')
    .where('used_at', 'is', null)
    .where('created_by', '=', (eb) =>
      eb.selectFrom('connect_users').select('email').where('id', '=', userId),
    );
}

/** PostgreSQL hands out its 64-bit integers as text where the driver is not told otherwise. */
function personOf(row: Person): Person {
  return { ...row, since: Number(row.since) };
}
