import { type Kysely, sql } from 'kysely';
import type { Access, Database, DatabaseKind } from '../database/database.js';
import type { TenantRow } from '../keys/tables.js';

/** Times are integers (ms since 1970), as in the tables of keys. */
export type SiteTables = {
  connect_operators: { user_id: string; created_at: number };
  connect_members: { tenant_id: string; user_id: string; created_at: number };
  connect_invitations: InvitationRow;
  connect_settings: { name: string; value: string };
  connect_once: { id: string; at: number };
  /** better-auth requires it; nothing is stored in it. */
  connect_verifications: { id: string };
  connect_users: UserRow;
  connect_accounts: AccountRow;
  connect_sessions: SessionRow;
  /** The keys' own, read for the names of a member's tenants. */
  tenants: Pick<TenantRow, 'id' | 'name'>;
};

export interface InvitationRow {
  id: string;
  /** SHA-256 of the link's token, hexadecimal. */
  token_hash: string;
  /** Null invites an operator. */
  tenant_id: string | null;
  /** Whom it is for, in the operator's words. */
  note: string;
  /** The inviter's e-mail, by which their right is checked; it is unique, and no account ever changes its own. */
  created_by: string;
  created_at: number;
  expires_at: number;
  used_at: number | null;
}

/** What better-auth stores for a moment or a truth: text and 0/1 in SQLite, PostgreSQL's own types there. */
type Moment = string | Date;
type Truth = number | boolean;

/** These three are better-auth's own, so their columns have its names. */
interface UserRow {
  id: string;
  name: string;
  email: string;
  emailVerified: Truth;
  createdAt: Moment;
  updatedAt: Moment;
}

interface AccountRow {
  id: string;
  accountId: string;
  providerId: string;
  userId: string;
  password: string | null;
  createdAt: Moment;
  updatedAt: Moment;
}

interface SessionRow {
  id: string;
  /** SHA-256 of the token, hexadecimal. */
  token: string;
  userId: string;
  expiresAt: Moment;
}

/** The site's access to its tables. */
export interface SiteDatabase extends Access<SiteTables> {
  /** For better-auth alone, which has its own statements. */
  readonly handle: Kysely<SiteTables>;
}

export function createSiteDatabase(database: Database): SiteDatabase {
  return { ...database.access<SiteTables>(), handle: database.handle.withTables<SiteTables>() };
}

/**
 * The tables of the key-management site: its own, and those of better-auth, as part of the one set of migrations and not made
 * by better-auth itself at a start. A test compares them with what better-auth requires.
 */
export async function createSiteTables(db: Kysely<unknown>, kind: DatabaseKind): Promise<void> {
  // What better-auth's Kysely adapter reads and writes on each database.
  const moment = kind === 'postgres' ? 'timestamptz' : 'date';
  const truth = kind === 'postgres' ? 'boolean' : 'integer';
  const times = `"createdAt" ${moment} not null, "updatedAt" ${moment} not null`;
  const ofUser = 'references connect_users (id) on delete cascade';
  const statements = [
    `create table connect_users (
      id text primary key, name text not null, email text not null unique, "emailVerified" ${truth} not null, image text,
      ${times})`,
    `create table connect_sessions (
      id text primary key, "expiresAt" ${moment} not null, token text not null unique, ${times},
      "ipAddress" text, "userAgent" text, "userId" text not null ${ofUser})`,
    'create index connect_sessions_of_user on connect_sessions ("userId")',
    `create table connect_accounts (
      id text primary key, "accountId" text not null, "providerId" text not null, "userId" text not null ${ofUser},
      "accessToken" text, "refreshToken" text, "idToken" text,
      "accessTokenExpiresAt" ${moment}, "refreshTokenExpiresAt" ${moment}, scope text, password text, ${times})`,
    'create index connect_accounts_of_user on connect_accounts ("userId")',
    `create table connect_verifications (
      id text primary key, identifier text not null, value text not null, "expiresAt" ${moment} not null, ${times})`,
    'create index connect_verifications_identifier on connect_verifications (identifier)',
    `create table connect_operators (user_id text primary key ${ofUser}, created_at bigint not null)`,
    `create table connect_members (
      tenant_id text not null, user_id text not null ${ofUser}, created_at bigint not null,
      constraint connect_members_pk primary key (user_id, tenant_id))`,
    'create index connect_members_of_tenant on connect_members (tenant_id)',
    `create table connect_invitations (
      id text primary key, token_hash text not null unique, tenant_id text, note text not null, created_by text not null,
      created_at bigint not null, expires_at bigint not null, used_at bigint)`,
    'create table connect_settings (name text primary key, value text not null)',
    'create table connect_once (id text primary key, at bigint not null)',
  ];
  for (const statement of statements) await sql.raw(statement).execute(db);
}
