import { type ExpressionBuilder, type Kysely, sql } from 'kysely';
import { containing } from '../../keys/lists.js';
import { hashSecret } from '../../keys/model.js';
import type { InvitationRow, Role, SiteDatabase, SiteRole, SiteTables, TenantRole } from '../tables.js';
import type { Group, User } from './account.js';

/** Of a group; `since` is when they joined, ms since 1970. */
export type Person = User & { since: number; role: Role; second_factor: boolean };

/** What a signed-in user may enter: everything as one of the site's staff, and their tenants, by name. */
export type Rights = { role: SiteRole | null; tenants: { id: string; name: string; role: TenantRole }[] };

/** The first may change things, and is what an invitation without a role makes somebody. */
export function rolesOf(group: Group): readonly [Role, Role] {
  return group === null ? ['operator', 'support'] : ['member', 'viewer'];
}

interface PeopleQuery {
  q: string;
  after: string | undefined;
  before: string | undefined;
}

export type People = ReturnType<typeof createPeople>;

/** Reads who is of the staff, and who of which tenant. */
export function createPeople({ run, kind }: SiteDatabase) {
  return {
    async rights(userId: string): Promise<Rights> {
      const [role, tenants] = await Promise.all([
        run((db) => siteRoleOf(db, userId)),
        run((db) =>
          db
            .selectFrom('connect_people as role')
            .innerJoin('tenants', 'tenants.id', 'role.tenant_id')
            .select(['tenants.id', 'tenants.name', 'role.role'])
            .$narrowType<{ role: TenantRole }>()
            .where('role.user_id', '=', userId)
            .orderBy('tenants.name')
            .orderBy('role.role')
            .execute(),
        ),
      ]);
      return { role, tenants };
    },
    /** The people of a group, first those who have been there for longest. */
    async of(group: Group): Promise<Person[]> {
      return (await run((db) => peopleIn(db, group).orderBy('role.created_at').execute())).map(personOf);
    },
    /** The people of all tenants with `q` in their e-mail or name, by e-mail; `after` and `before` are cursors. */
    async search({ q, after, before }: PeopleQuery) {
      const backwards = before !== undefined;
      const rows = await run((db) => {
        const place = sql`("user".email, tenants.name)`;
        const [email, tenant] = (before ?? after ?? '').split(' ');
        const cursor = sql`(${email ?? ''}, ${tenant ?? ''})`;
        const found = db
          .selectFrom('connect_people as role')
          .innerJoin('connect_users as user', 'user.id', 'role.user_id')
          .innerJoin('tenants', 'tenants.id', 'role.tenant_id')
          .select([...personColumns, 'tenants.name as tenant'])
          .where((eb) => eb.or(containing(kind, q, ['user.email', 'user.name'])))
          .where(sql<boolean>`${place} ${sql.raw(backwards ? '<' : '>')} ${cursor}`);
        const order = backwards ? 'desc' : 'asc';
        return found
          .orderBy('user.email', order)
          .orderBy('tenants.name', order)
          .limit(peoplePerPage + 1)
          .execute();
      });
      const more = rows.length > peoplePerPage;
      const page = rows.slice(0, peoplePerPage).map((row) => ({ ...personOf(row), tenant: row.tenant }));
      if (backwards) page.reverse();
      const cursorOf = (row?: (typeof page)[number]) => row && `${row.email} ${row.tenant}`;
      return {
        people: page,
        after: ((backwards || more) && cursorOf(page.at(-1))) || null,
        before: ((backwards ? more : after !== undefined) && cursorOf(page[0])) || null,
      };
    },
  };
}

const peoplePerPage = 50;
const personColumns = [
  'user.id',
  'user.email',
  'user.name',
  'user.second_factor',
  'role.role',
  'role.created_at as since',
] as const;

export function peopleIn(db: Kysely<SiteTables>, group: Group) {
  return db
    .selectFrom('connect_people as role')
    .innerJoin('connect_users as user', 'user.id', 'role.user_id')
    .select(personColumns)
    .where('role.tenant_id', group === null ? 'is' : '=', group);
}

/** What is secret of a second factor stays behind. */
function personOf<R extends { second_factor: string | null }>({ second_factor, ...person }: R) {
  return { ...person, second_factor: second_factor !== null };
}

/** The role of one of the staff; null of everybody else. */
export async function siteRoleOf(db: Kysely<SiteTables>, userId: string): Promise<SiteRole | null> {
  const roles = db.selectFrom('connect_people').select('role').$narrowType<{ role: SiteRole }>();
  const query = roles.where('user_id', '=', userId).where('tenant_id', 'is', null).orderBy('role');
  return (await query.executeTakeFirst())?.role ?? null;
}

const maxInvitationsShown = 200;

/** An invitation that can be accepted, with the tenant's name. */
export type Offer = InvitationRow & { tenant: string | null };

/** Reads links that give their holder a role in a tenant or on the site; once, for seven days. */
export function createInvitations({ run }: SiteDatabase, now: () => number = Date.now) {
  return {
    /** Those that can still be used, newest first. */
    open: (group: Group): Promise<InvitationRow[]> =>
      run((db) =>
        db
          .selectFrom('connect_invitations')
          .selectAll()
          .where('tenant_id', group === null ? 'is' : '=', group)
          .where(usableAt(now()))
          .orderBy('created_at', 'desc')
          .limit(maxInvitationsShown)
          .execute(),
      ),
    find: (token: string): Promise<Offer | undefined> =>
      run((db) =>
        db
          .selectFrom('connect_invitations')
          .leftJoin('tenants', 'tenants.id', 'connect_invitations.tenant_id')
          .selectAll('connect_invitations')
          .select('tenants.name as tenant')
          .where('token_hash', 'in', invitationHashes(token))
          .where((eb) => usableAt(now())(eb))
          .executeTakeFirst(),
      ),
  };
}

/** How an invitation's token may be stored. The second is a reader's, which older gateways do not find: they know no readers. */
export function invitationHashes(token: string): [string, string] {
  return [hashSecret(token), hashSecret(`reader ${token}`)];
}

/** Those that were not used, have not expired, and whose inviter may still invite. */
export function usableAt(now: number) {
  return function usable(eb: ExpressionBuilder<SiteTables, 'connect_invitations'>) {
    const inviters = eb
      .selectFrom('connect_operators')
      .innerJoin('connect_users', 'connect_users.id', 'connect_operators.user_id')
      .select('connect_users.email');
    return eb.and([
      eb('connect_invitations.used_at', 'is', null),
      eb('connect_invitations.expires_at', '>', now),
      eb.or([
        eb('connect_invitations.created_by', 'in', inviters),
        // Of a command: no e-mail has a colon.
        eb('connect_invitations.created_by', 'like', 'cli:%'),
      ]),
    ]);
  };
}
