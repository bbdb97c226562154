import { randomBytes } from 'node:crypto';
import type { ExpressionBuilder, Transaction } from 'kysely';
import { hashSecret } from '../../keys/key-format.js';
import type { InvitationRow, SiteDatabase, SiteTables } from '../tables.js';
import { newId } from './account.js';

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

const invitationLifetimeMs = 7 * 86_400_000;
const maxInvitationsShown = 200;

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
          .limit(maxInvitationsShown)
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
  const times = { created_at: now, expires_at: now + invitationLifetimeMs, used_at: null };
  await trx
    .insertInto('connect_invitations')
    .values({ id: newId(), token_hash: hashSecret(token), ...given, ...times })
    .execute();
  return token;
}

/** Marks it used, in the statement that checks that it is not: of two who take it up at once, one does. */
export async function claimInvitation(
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
