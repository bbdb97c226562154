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
  /** better-auth wants it; nothing is kept in it. */
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

/** What better-auth keeps in a column for a moment or a truth: text and 0/1 in SQLite, PostgreSQL's own types there. */
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

/** The site's way to its tables. */
export interface SiteDatabase extends Access<SiteTables> {
  /** For better-auth alone, which brings its own statements. */
  readonly handle: Kysely<SiteTables>;
}

export function createSiteDatabase(database: Database): SiteDatabase {
  return { ...database.access<SiteTables>(), handle: database.handle.withTables<SiteTables>() };
}

/**
 * The tables of the key-management site: its own, and those that better-auth asks for, as part of the one set of
 * migrations and not made by better-auth at some start of its own. A test holds them against what better-auth wants.
 */
export async function createSiteTables(db: Kysely<unknown>, kind: DatabaseKind): Promise<void> {
  await createUserTables(db, kind);
  await createOwnTables(db);
}

async function createUserTables(db: Kysely<unknown>, kind: DatabaseKind): Promise<void> {
  // What better-auth's Kysely adapter reads and writes on each database.
  const moment = kind === 'postgres' ? 'timestamptz' : sql`date`;
  const truth = kind === 'postgres' ? 'boolean' : 'integer';
  await db.schema
    .createTable('connect_users')
    .addColumn('id', 'text', (column) => column.primaryKey())
    .addColumn('name', 'text', (column) => column.notNull())
    .addColumn('email', 'text', (column) => column.notNull().unique())
    .addColumn('emailVerified', truth, (column) => column.notNull())
    .addColumn('image', 'text')
    .addColumn('createdAt', moment, (column) => column.notNull())
    .addColumn('updatedAt', moment, (column) => column.notNull())
    .execute();
  await db.schema
    .createTable('connect_sessions')
    .addColumn('id', 'text', (column) => column.primaryKey())
    .addColumn('expiresAt', moment, (column) => column.notNull())
    .addColumn('token', 'text', (column) => column.notNull().unique())
    .addColumn('createdAt', moment, (column) => column.notNull())
    .addColumn('updatedAt', moment, (column) => column.notNull())
    .addColumn('ipAddress', 'text')
    .addColumn('userAgent', 'text')
    .addColumn('userId', 'text', (c) => c.notNull().references('connect_users.id').onDelete('cascade'))
    .execute();
  await db.schema.createIndex('connect_sessions_of_user').on('connect_sessions').column('userId').execute();
  await db.schema
    .createTable('connect_accounts')
    .addColumn('id', 'text', (column) => column.primaryKey())
    .addColumn('accountId', 'text', (column) => column.notNull())
    .addColumn('providerId', 'text', (column) => column.notNull())
    .addColumn('userId', 'text', (c) => c.notNull().references('connect_users.id').onDelete('cascade'))
    .addColumn('accessToken', 'text')
    .addColumn('refreshToken', 'text')
    .addColumn('idToken', 'text')
    .addColumn('accessTokenExpiresAt', moment)
    .addColumn('refreshTokenExpiresAt', moment)
    .addColumn('scope', 'text')
    .addColumn('password', 'text')
    .addColumn('createdAt', moment, (column) => column.notNull())
    .addColumn('updatedAt', moment, (column) => column.notNull())
    .execute();
  await db.schema.createIndex('connect_accounts_of_user').on('connect_accounts').column('userId').execute();
  await db.schema
    .createTable('connect_verifications')
    .addColumn('id', 'text', (column) => column.primaryKey())
    .addColumn('identifier', 'text', (column) => column.notNull())
    .addColumn('value', 'text', (column) => column.notNull())
    .addColumn('expiresAt', moment, (column) => column.notNull())
    .addColumn('createdAt', moment, (column) => column.notNull())
    .addColumn('updatedAt', moment, (column) => column.notNull())
    .execute();
  await db.schema
    .createIndex('connect_verifications_identifier')
    .on('connect_verifications')
    .column('identifier')
    .execute();
}

async function createOwnTables(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable('connect_operators')
    .addColumn('user_id', 'text', (c) => c.primaryKey().references('connect_users.id').onDelete('cascade'))
    .addColumn('created_at', 'bigint', (column) => column.notNull())
    .execute();
  await db.schema
    .createTable('connect_members')
    .addColumn('tenant_id', 'text', (column) => column.notNull())
    .addColumn('user_id', 'text', (c) => c.notNull().references('connect_users.id').onDelete('cascade'))
    .addColumn('created_at', 'bigint', (column) => column.notNull())
    .addPrimaryKeyConstraint('connect_members_pk', ['user_id', 'tenant_id'])
    .execute();
  await db.schema
    .createIndex('connect_members_of_tenant')
    .on('connect_members')
    .column('tenant_id')
    .execute();
  await db.schema
    .createTable('connect_invitations')
    .addColumn('id', 'text', (column) => column.primaryKey())
    .addColumn('token_hash', 'text', (column) => column.notNull().unique())
    .addColumn('tenant_id', 'text')
    .addColumn('note', 'text', (column) => column.notNull())
    .addColumn('created_by', 'text', (column) => column.notNull())
    .addColumn('created_at', 'bigint', (column) => column.notNull())
    .addColumn('expires_at', 'bigint', (column) => column.notNull())
    .addColumn('used_at', 'bigint')
    .execute();
  await db.schema
    .createTable('connect_settings')
    .addColumn('name', 'text', (column) => column.primaryKey())
    .addColumn('value', 'text', (column) => column.notNull())
    .execute();
  await db.schema
    .createTable('connect_once')
    .addColumn('id', 'text', (column) => column.primaryKey())
    .addColumn('at', 'bigint', (column) => column.notNull())
    .execute();
}
