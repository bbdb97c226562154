import { type Generated, type Kysely, sql } from 'kysely';
import type { DatabaseKind } from '../database/database.js';
import type { AuditEntry } from './audit-text.js';
import type { Key, KeyLimits, Plan, Recipe, Secret, Tenant, TenantLimits } from './model.js';

/** The same on both databases: times are integers (ms since 1970), lists and objects are JSON text. */
export type KeyTables = {
  tenants: TenantRow;
  keys: KeyRow;
  secrets: Secret;
  audit: AuditRow;
  recipes: Recipe;
  plans: PlanRow;
  former_tenants: FormerTenant;
};

/** `plan` is its name. `weight` is what holds, for gateways from before there were plans; a tenant's own is beside it. */
export type TenantRow = Omit<Tenant, 'limits' | 'weight' | 'plan' | 'webhook_version'> &
  TenantLimits & {
    weight: number;
    own_weight: number | null;
    plan: string | null;
    webhook_version: Generated<number>;
  };

/** Its scopes are a list in JSON. */
export type KeyRow = Omit<Key, 'scopes' | 'limits'> & { scopes: string | null } & KeyLimits;

export type PlanRow = Omit<Plan, 'limits'> & TenantLimits;

/** A tenant that was deleted: the audit log and usage still name it, and what is left of its jobs is removed by it. */
type FormerTenant = Pick<Tenant, 'id' | 'name'> & { deleted_at: number };

type AuditRow = Omit<AuditEntry, 'id' | 'action' | 'detail'> & {
  id: Generated<number>;
  action: string;
  detail: string;
};

/** Creates the tables of tenants, keys, secrets and the audit log. */
export async function createKeyTables(db: Kysely<unknown>, kind: DatabaseKind): Promise<void> {
  // Names and ids are sorted by their bytes on both, whatever locale a PostgreSQL database was made with.
  const text = kind === 'postgres' ? 'text collate "C"' : 'text';
  const serial = kind === 'postgres' ? 'bigserial primary key' : 'integer primary key autoincrement';
  const statements = [
    `create table tenants (
      id ${text} primary key, name ${text} not null unique, created_at bigint not null,
      rate double precision, burst bigint, monthly_quota bigint, in_flight bigint, weight bigint not null)`,
    `create table keys (
      id ${text} primary key, tenant_id ${text} not null references tenants (id), label text, scopes text,
      expires_at bigint, created_at bigint not null, revoked_at bigint, last_used_at bigint)`,
    'create index keys_of_tenant on keys (tenant_id, created_at, id)',
    `create table secrets (
      id ${text} primary key, key_id ${text} not null references keys (id), hash ${text} not null unique,
      prefix text not null, suffix text not null, created_at bigint not null, expires_at bigint, ended_at bigint)`,
    'create index secrets_of_key on secrets (key_id)',
    // No foreign keys: what was done stays on record whatever becomes of the rest.
    `create table audit (
      id ${serial}, at bigint not null, actor text not null, action text not null,
      tenant_id text, key_id text, detail text not null)`,
    'create index audit_of_tenant on audit (tenant_id, id)',
    'create index audit_of_key on audit (key_id, id)',
    ...(kind === 'postgres' ? postgresGuard : sqliteGuard),
  ];
  await runAll(db, statements);
}

/** Gives each key the version of its signing secret; keys that an older gateway adds meanwhile have the first. */
export async function addSigningVersion(db: Kysely<unknown>): Promise<void> {
  await runAll(db, ['alter table keys add column signing_version integer default 1 not null']);
}

/** Gives each tenant the version of its webhook secret, and when the one before was replaced. */
export async function addWebhookVersion(db: Kysely<unknown>): Promise<void> {
  await runAll(db, [
    'alter table tenants add column webhook_version integer default 1 not null',
    'alter table tenants add column webhook_rotated_at bigint',
  ]);
}

/** Creates the table of tenants' recipes. */
export async function createRecipeTable(db: Kysely<unknown>, kind: DatabaseKind): Promise<void> {
  const text = kind === 'postgres' ? 'text collate "C"' : 'text';
  await runAll(db, [
    `create table recipes (
      tenant_id ${text} not null references tenants (id) on delete cascade, name ${text} not null,
      definition text not null, created_at bigint not null, updated_at bigint not null,
      constraint recipes_pk primary key (tenant_id, name))`,
  ]);
}

/** What operators of many tenants set: plans, CPU budgets, limits of keys, pauses, suspensions, notes. */
export async function addOperatorColumns(db: Kysely<unknown>, kind: DatabaseKind): Promise<void> {
  const text = kind === 'postgres' ? 'text collate "C"' : 'text';
  const add = (table: string, columns: string[]) =>
    columns.map((column) => `alter table ${table} add column ${column}`);
  await runAll(db, [
    `create table plans (
      name ${text} primary key, rate double precision, burst bigint, monthly_quota bigint, in_flight bigint,
      monthly_cpu_ms bigint, weight bigint, created_at bigint not null, updated_at bigint not null)`,
    ...add('tenants', [
      'monthly_cpu_ms bigint',
      'own_weight bigint',
      `plan ${text} references plans (name)`,
      'suspended_at bigint',
      'external_id text',
      'note text',
      'notice_url text',
    ]),
    'update tenants set own_weight = weight where weight <> 1',
    'create index tenants_of_plan on tenants (plan)',
    'create index tenants_suspended on tenants (id) where suspended_at is not null',
    `create table former_tenants (id ${text} primary key, name ${text} not null, deleted_at bigint not null)`,
    ...add('keys', [
      'paused_at bigint',
      'rate double precision',
      'monthly_quota bigint',
      'monthly_cpu_ms bigint',
    ]),
    'create index keys_paused on keys (id) where paused_at is not null',
    'create index keys_by_time on keys (created_at, id)',
  ]);
}

export async function runAll(db: Kysely<unknown>, statements: readonly string[]): Promise<void> {
  for (const statement of statements) await sql.raw(statement).execute(db);
}

// Even with the gateway's own rights on the tables, what was done cannot be rewritten quietly.
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
