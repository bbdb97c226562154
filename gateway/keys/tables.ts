import { type Generated, type Kysely, type Selectable, sql } from 'kysely';
import type { DatabaseKind } from '../database/database.js';
import type { AuditAction, AuditEntry, Key, Secret, Tenant } from './model.js';

/**
 * The tables, the same on both databases. Times are integers (ms since 1970): exact and ordered alike in SQLite and
 * PostgreSQL, which no other type is. Lists and objects are JSON text.
 */
export type KeyTables = {
  tenants: TenantRow;
  keys: KeyRow;
  secrets: Secret;
  audit: AuditRow;
};

export interface TenantRow {
  id: string;
  name: string;
  created_at: number;
  rate: number | null;
  burst: number | null;
  monthly_quota: number | null;
  in_flight: number | null;
  weight: number;
  webhook_version: Generated<number>;
  webhook_rotated_at: number | null;
}

/** Its scopes are a list in JSON. */
export type KeyRow = Omit<Key, 'scopes'> & { scopes: string | null };

interface AuditRow {
  id: Generated<number>;
  at: number;
  actor: string;
  action: string;
  tenant_id: string | null;
  key_id: string | null;
  detail: string;
}

export function tenantOf(row: Selectable<TenantRow>): Tenant {
  const { id, name, created_at, weight, rate, burst, monthly_quota, in_flight } = row;
  const { webhook_version, webhook_rotated_at } = row;
  const limits = { rate, burst, monthly_quota, in_flight };
  return { id, name, created_at, limits, weight, webhook_version, webhook_rotated_at };
}

export function tenantRow({ limits, ...tenant }: Tenant): Selectable<TenantRow> {
  return { ...tenant, ...limits };
}

export function keyOf(row: KeyRow): Key {
  return { ...row, scopes: row.scopes === null ? null : JSON.parse(row.scopes) };
}

export function keyRow(key: Key): KeyRow {
  return { ...key, scopes: key.scopes === null ? null : JSON.stringify(key.scopes) };
}

export function auditOf(row: Selectable<AuditRow>): AuditEntry {
  return { ...row, action: row.action as AuditAction, detail: JSON.parse(row.detail) };
}

export function auditRow(entry: Omit<AuditEntry, 'id'>): Omit<AuditRow, 'id'> {
  return { ...entry, detail: JSON.stringify(entry.detail) };
}

/** Makes the tables of tenants, keys, secrets and the audit log. */
export async function createKeyTables(db: Kysely<unknown>, kind: DatabaseKind): Promise<void> {
  // Names and ids are sorted by their bytes on both, whatever locale a PostgreSQL database was made with.
  const text = kind === 'postgres' ? sql`text collate "C"` : 'text';
  await db.schema
    .createTable('tenants')
    .addColumn('id', text, (column) => column.primaryKey())
    .addColumn('name', text, (column) => column.notNull().unique())
    .addColumn('created_at', 'bigint', (column) => column.notNull())
    .addColumn('rate', 'double precision')
    .addColumn('burst', 'bigint')
    .addColumn('monthly_quota', 'bigint')
    .addColumn('in_flight', 'bigint')
    .addColumn('weight', 'bigint', (column) => column.notNull())
    .execute();
  await db.schema
    .createTable('keys')
    .addColumn('id', text, (column) => column.primaryKey())
    .addColumn('tenant_id', text, (column) => column.notNull().references('tenants.id'))
    .addColumn('label', 'text')
    .addColumn('scopes', 'text')
    .addColumn('expires_at', 'bigint')
    .addColumn('created_at', 'bigint', (column) => column.notNull())
    .addColumn('revoked_at', 'bigint')
    .addColumn('last_used_at', 'bigint')
    .execute();
  await db.schema
    .createIndex('keys_of_tenant')
    .on('keys')
    .columns(['tenant_id', 'created_at', 'id'])
    .execute();
  await db.schema
    .createTable('secrets')
    .addColumn('id', text, (column) => column.primaryKey())
    .addColumn('key_id', text, (column) => column.notNull().references('keys.id'))
    .addColumn('hash', text, (column) => column.notNull().unique())
    .addColumn('prefix', 'text', (column) => column.notNull())
    .addColumn('suffix', 'text', (column) => column.notNull())
    .addColumn('created_at', 'bigint', (column) => column.notNull())
    .addColumn('expires_at', 'bigint')
    .addColumn('ended_at', 'bigint')
    .execute();
  await db.schema.createIndex('secrets_of_key').on('secrets').column('key_id').execute();
  await createAuditTable(db, kind);
}

/** Gives each key the version of its signing secret; what an older gateway adds meanwhile has the first. */
export async function addSigningVersion(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .alterTable('keys')
    .addColumn('signing_version', 'integer', (column) => column.notNull().defaultTo(1))
    .execute();
}

/** Gives each tenant the version of its webhook secret, and when the one before was replaced. */
export async function addWebhookVersion(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .alterTable('tenants')
    .addColumn('webhook_version', 'integer', (column) => column.notNull().defaultTo(1))
    .execute();
  await db.schema.alterTable('tenants').addColumn('webhook_rotated_at', 'bigint').execute();
}

async function createAuditTable(db: Kysely<unknown>, kind: DatabaseKind): Promise<void> {
  // No foreign keys: what was done stays on record whatever becomes of the rest.
  await db.schema
    .createTable('audit')
    .addColumn('id', kind === 'postgres' ? 'bigserial' : 'integer', (column) => {
      return kind === 'postgres' ? column.primaryKey() : column.primaryKey().autoIncrement();
    })
    .addColumn('at', 'bigint', (column) => column.notNull())
    .addColumn('actor', 'text', (column) => column.notNull())
    .addColumn('action', 'text', (column) => column.notNull())
    .addColumn('tenant_id', 'text')
    .addColumn('key_id', 'text')
    .addColumn('detail', 'text', (column) => column.notNull())
    .execute();
  await db.schema.createIndex('audit_of_tenant').on('audit').columns(['tenant_id', 'id']).execute();
  await db.schema.createIndex('audit_of_key').on('audit').columns(['key_id', 'id']).execute();
  for (const statement of kind === 'postgres' ? postgresGuard : sqliteGuard) {
    await sql.raw(statement).execute(db);
  }
}

// Whoever gets at the tables with the gateway's own rights still cannot quietly rewrite what was done.
const sqliteGuard = ['update', 'delete'].map(
  (change) => `create trigger audit_no_${change} before ${change} on audit
    begin select raise(abort, 'the audit log is only added to'); end`,
);
const postgresGuard = [
  `create function refuse_audit_change() returns trigger language plpgsql as
    $$ begin raise exception 'the audit log is only added to'; end $$`,
  `create trigger audit_only_grows before update or delete or truncate on audit
    for each statement execute function refuse_audit_change()`,
];
