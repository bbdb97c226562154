import { randomBytes } from 'node:crypto';
import type { ExpressionBuilder, Transaction } from 'kysely';
import { hashSecret } from '../../keys/model.js';
import type { InvitationRow, SiteDatabase, SiteTables } from '../tables.js';
import { type Group, newId } from './account.js';

export interface Person {
  id: string;
  email: string;
  name: string;
  /** When they joined, ms since 1970. */
  since: number;
}

/** What a signed-in user may see. */
export interface Rights {
  operator: boolean;
  /** The tenants that they are a member of, by name. */
  tenants: { id: string; name: string }[];
}

export type People = ReturnType<typeof createPeople>;

/**
 * Reads who is an operator, and who a member of which tenant; `MemberAdmin` changes it. Memberships are in tables of the site's
 * own. better-auth's organisations proved unfit: they would be a second list of tenants to be kept in step with the first, an
 * invitation there is opened by its row's id, which the database holds in clear, and it can be accepted only with an
 * existing account, which nobody can create without an invitation here.
 */
export function createPeople({ run }: SiteDatabase) {
  return {
    async rights(userId: string): Promise<Rights> {
      const [operator, tenants] = await Promise.all([
        run((db) =>
          db
            .selectFrom('connect_operators')
            .select('user_id')
            .where('user_id', '=', userId)
            .executeTakeFirst(),
        ),
        run((db) =>
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
    operators(): Promise<Person[]> {
      return run((db) =>
        db
          .selectFrom('connect_operators as role')
          .innerJoin('connect_users as user', 'user.id', 'role.user_id')
          .select(['user.id', 'user.email', 'user.name', 'role.created_at as since'])
          .orderBy('role.created_at')
          .execute(),
      );
    },
    members(tenantId: string): Promise<Person[]> {
      return run((db) =>
        db
          .selectFrom('connect_members as role')
          .innerJoin('connect_users as user', 'user.id', 'role.user_id')
          .select(['user.id', 'user.email', 'user.name', 'role.created_at as since'])
          .where('role.tenant_id', '=', tenantId)
          .orderBy('role.created_at')
          .execute(),
      );
    },
    /** Names of tenants by id. */
    async tenantNames(ids: readonly string[]): Promise<Map<string, string>> {
      if (ids.length === 0) return new Map();
      const rows = await run((db) =>
        db.selectFrom('tenants').select(['id', 'name']).where('id', 'in', ids).execute(),
      );
      return new Map(rows.map(({ id, name }) => [id, name]));
    },
  };
}

const invitationLifetimeMs = 7 * 86_400_000;
const maxInvitationsShown = 200;

export type Invitation = Omit<InvitationRow, 'token_hash'>;

/** An invitation that can be accepted, with the tenant's name. */
export type Offer = Invitation & { tenant: string | null };

export type Invitations = ReturnType<typeof createInvitations>;

/** Reads links that make their holder a member of a tenant or an operator; once, for seven days. */
export function createInvitations({ run }: SiteDatabase, now: () => number = Date.now) {
  return {
    /** Those that can still be used, newest first. */
    async open(group: Group): Promise<Invitation[]> {
      const rows = await run((db) =>
        db
          .selectFrom('connect_invitations')
          .selectAll()
          .where('tenant_id', group === null ? 'is' : '=', group)
          .where(usableAt(now()))
          .orderBy('created_at', 'desc')
          .limit(maxInvitationsShown)
          .execute(),
      );
      return rows.map(withoutHash);
    },
    async find(token: string): Promise<Offer | undefined> {
      const row = await run((db) =>
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

/** Adds an invitation and returns its token, which the caller alone has: the database has its hash. */
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

/** Marks it used, in the statement that checks that it is not: of two that claim it at once, one succeeds. */
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

/** Those that were not used, have not expired, and whose inviter may still invite. */
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
