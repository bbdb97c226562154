import type { Generated, Kysely } from 'kysely';
import type { Access, DatabaseKind } from '../database/database.js';
import { runAll, type TenantRow } from '../keys/tables.js';

/** Of the site's own staff: support reads everything, changes nothing and sees no secret. */
export type SiteRole = 'operator' | 'support';
/** Of one tenant's people: a viewer reads, changes nothing and sees no secret. */
export type TenantRole = 'member' | 'viewer';
export type Role = SiteRole | TenantRole;

/** Times are integers (ms since 1970), as in the tables of keys. */
export type SiteTables = {
  connect_operators: { user_id: string; created_at: number };
  connect_members: { tenant_id: string; user_id: string; created_at: number };
  /** Viewers of a tenant and, without one, support staff: older gateways would count them as members and operators. */
  connect_readers: PlaceRow;
  /** A view of all three. */
  connect_people: PlaceRow & { role: Role };
  connect_invitations: InvitationRow;
  connect_settings: { name: string; value: string };
  connect_once: { id: string; at: number };
  connect_users: UserRow;
  /** Accounts of the identity provider, by the subject that it names, with which an account here was connected. */
  connect_identities: { subject: string; user_id: string };
  connect_sessions: SessionRow;
  /** Recovery codes of a second factor that were not used: SHA-256, hexadecimal. */
  connect_recovery_codes: { user_id: string; hash: string };
  /** Sign-ins whose password was right and whose code is still to come; `id` is the SHA-256 of a form's token. */
  connect_sign_ins: { id: string; user_id: string; expires_at: number };
  connect_tokens: TokenRow;
  /** The keys' own, read for the names of a member's tenants. */
  tenants: Pick<TenantRow, 'id' | 'name'>;
};

type PlaceRow = { tenant_id: string | null; user_id: string; created_at: number };

export interface InvitationRow {
  id: string;
  /** SHA-256 of the link's token, hexadecimal; see `invitationHashes`. */
  token_hash: string;
  /** Null invites to the site's staff. */
  tenant_id: string | null;
  /** Whom it is for, in the operator's words. */
  note: string;
  /** The inviter's e-mail, by which their right is checked and which follows a change of it; `cli:…` of a command. */
  created_by: string;
  created_at: number;
  expires_at: number;
  used_at: number | null;
  /** Null, as older gateways leave it, is operator or member. */
  role: Role | null;
}

interface UserRow {
  id: string;
  name: string;
  /** In lower case. */
  email: string;
  /** Its hash; null in a row of 1.0.0 that had none. */
  password: string | null;
  /** The sealed secret of one-time passwords; null without a second factor. */
  second_factor: string | null;
  /** The time step of the last code that was used: no code works twice. */
  second_factor_step: Generated<number>;
}

/** A program's token for the JSON API. */
export interface TokenRow {
  id: string;
  label: string;
  role: SiteRole;
  /** SHA-256 of the token, hexadecimal. */
  hash: string;
  created_at: number;
  /** The actor who made it, as the audit log names them. */
  created_by: string;
  expires_at: number | null;
  /** To the minute. */
  last_used_at: number | null;
}

interface SessionRow {
  /** SHA-256 of the token, hexadecimal. */
  id: string;
  user_id: string;
  created_at: number;
  /** When it was last renewed. */
  seen_at: number;
  expires_at: number;
  address: string;
  agent: string;
}

/** The site's access to its tables. */
export type SiteDatabase = Access<SiteTables>;

/** The tables of version 1.0.0, of which four were better-auth's. */
export async function createSiteTables(db: Kysely<unknown>, kind: DatabaseKind): Promise<void> {
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
  await runAll(db, statements);
}

/** Replaces better-auth's tables. Users keep passwords and connected accounts, and sign in again. */
export async function replaceAccountTables(db: Kysely<unknown>): Promise<void> {
  const ofUser = 'references connect_users (id) on delete cascade';
  const given = (provider: string) => `from connect_accounts where "providerId" = '${provider}'`;
  const dropped = ['"emailVerified"', 'image', '"createdAt"', '"updatedAt"'];
  await runAll(db, [
    'alter table connect_users add column password text',
    `update connect_users set password =
      (select min(password) ${given('credential')} and "userId" = connect_users.id)`,
    ...dropped.map((column) => `alter table connect_users drop column ${column}`),
    `create table connect_identities (subject text primary key, user_id text not null ${ofUser})`,
    `insert into connect_identities select "accountId", min("userId") ${given('oidc')} group by "accountId"`,
    ...['accounts', 'sessions', 'verifications'].map((name) => `drop table connect_${name}`),
    `create table connect_sessions (
      id text primary key, user_id text not null ${ofUser}, created_at bigint not null, seen_at bigint not null,
      expires_at bigint not null, address text not null, agent text not null)`,
    'create index connect_sessions_of_user on connect_sessions (user_id)',
  ]);
}

/** Adds readers, second factors and API tokens. */
export async function addAccess(db: Kysely<unknown>): Promise<void> {
  const ofUser = 'references connect_users (id) on delete cascade';
  await runAll(db, [
    `create table connect_readers (
      tenant_id text, user_id text not null ${ofUser}, created_at bigint not null)`,
    "create unique index connect_readers_once on connect_readers (user_id, coalesce(tenant_id, ''))",
    `create view connect_people as
      select tenant_id, user_id, created_at, 'member' as role from connect_members
      union all select null, user_id, created_at, 'operator' from connect_operators
      union all select tenant_id, user_id, created_at,
        case when tenant_id is null then 'support' else 'viewer' end from connect_readers`,
    'alter table connect_invitations add column role text',
    'alter table connect_users add column second_factor text',
    'alter table connect_users add column second_factor_step bigint default 0 not null',
    `create table connect_recovery_codes (
      user_id text not null ${ofUser}, hash text not null,
      constraint connect_recovery_codes_pk primary key (user_id, hash))`,
    `create table connect_sign_ins (
      id text primary key, user_id text not null ${ofUser}, expires_at bigint not null)`,
    `create table connect_tokens (
      id text primary key, label text not null, role text not null, hash text not null unique,
      created_at bigint not null, created_by text not null, expires_at bigint, last_used_at bigint)`,
  ]);
}
