import type { SiteDatabase } from '../database.js';

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

/** Who is an operator, and who a member of which tenant: for reading. `MemberAdmin` changes it. */
export interface People {
  rights(userId: string): Promise<Rights>;
  operators(): Promise<Person[]>;
  members(tenantId: string): Promise<Person[]>;
  /** Names of tenants by id. */
  tenantNames(ids: readonly string[]): Promise<Map<string, string>>;
}

/**
 * Memberships in tables of the site's own. better-auth's organisations proved unfit: they would be a second list of
 * tenants to be kept in step with the first, an invitation there is opened by its row's id, which the database holds
 * in clear, and it can be taken up only by somebody who has an account already, which here nobody may make for themselves.
 */
export function createPeople(database: SiteDatabase): People {
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
      return database.run((db) =>
        db
          .selectFrom('connect_operators as role')
          .innerJoin('connect_users as user', 'user.id', 'role.user_id')
          .select(['user.id', 'user.email', 'user.name', 'role.created_at as since'])
          .orderBy('role.created_at')
          .execute(),
      );
    },
    async members(tenantId) {
      return database.run((db) =>
        db
          .selectFrom('connect_members as role')
          .innerJoin('connect_users as user', 'user.id', 'role.user_id')
          .select(['user.id', 'user.email', 'user.name', 'role.created_at as since'])
          .where('role.tenant_id', '=', tenantId)
          .orderBy('role.created_at')
          .execute(),
      );
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
