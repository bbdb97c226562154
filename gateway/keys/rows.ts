import type { Kysely, Selectable } from 'kysely';
import {
  type FoundKey,
  type FoundSecret,
  type Key,
  type KeyLimits,
  type KeyWithSecrets,
  type Plan,
  type Recipe,
  type Secret,
  type Tenant,
  type TenantLimits,
  weightInForce,
} from './model.js';
import type { KeyRow, KeyTables, PlanRow, TenantRow } from './tables.js';

/** What is stored of a tenant's weight. */
export function weightColumns(tenant: Pick<Tenant, 'weight' | 'plan'>) {
  return { own_weight: tenant.weight, weight: weightInForce(tenant) };
}

/** Tenants with the values of their plans. */
export function selectTenants(db: Kysely<KeyTables>) {
  return db
    .selectFrom('tenants')
    .leftJoin('plans', 'plans.name', 'tenants.plan')
    .selectAll('tenants')
    .select(planColumns);
}

const planColumns = [
  'plans.rate as plan_rate',
  'plans.burst as plan_burst',
  'plans.monthly_quota as plan_monthly_quota',
  'plans.in_flight as plan_in_flight',
  'plans.monthly_cpu_ms as plan_monthly_cpu_ms',
  'plans.weight as plan_weight',
] as const;

type PlanColumn = (typeof planColumns)[number] extends `plans.${string} as ${infer Name}` ? Name : never;
type TenantRead = Selectable<TenantRow> & Record<PlanColumn, number | null>;

export function tenantOf(row: TenantRead): Tenant {
  const { id, name, created_at, webhook_version, webhook_rotated_at, own_weight: weight } = row;
  const { suspended_at, external_id, note, notice_url } = row;
  const planned: TenantLimits = {
    rate: row.plan_rate,
    burst: row.plan_burst,
    monthly_quota: row.plan_monthly_quota,
    in_flight: row.plan_in_flight,
    monthly_cpu_ms: row.plan_monthly_cpu_ms,
  };
  const plan = row.plan === null ? null : { name: row.plan, limits: planned, weight: row.plan_weight };
  return {
    ...{ id, name, created_at, limits: limitsOf(row), weight, plan },
    ...{ webhook_version, webhook_rotated_at, suspended_at, external_id, note, notice_url },
  };
}

function limitsOf({ rate, burst, monthly_quota, in_flight, monthly_cpu_ms }: TenantLimits): TenantLimits {
  return { rate, burst, monthly_quota, in_flight, monthly_cpu_ms };
}

function keyOf({ rate, monthly_quota, monthly_cpu_ms, scopes, ...key }: KeyRow): Key {
  const limits = { rate, monthly_quota, monthly_cpu_ms };
  return { ...key, limits, scopes: scopes === null ? null : JSON.parse(scopes) };
}

export async function readTenant(db: Kysely<KeyTables>, name: string): Promise<Tenant | undefined> {
  const row = await selectTenants(db).where('tenants.name', '=', name).executeTakeFirst();
  return row && tenantOf(row);
}

export function planOf({ name, weight, created_at, updated_at, ...limits }: PlanRow): Plan {
  return { name, limits: limitsOf(limits), weight, created_at, updated_at };
}

export async function readPlan(db: Kysely<KeyTables>, name: string): Promise<Plan | undefined> {
  const row = await db.selectFrom('plans').selectAll().where('name', '=', name).executeTakeFirst();
  return row && planOf(row);
}

/** Keys with the names of their tenants. */
export function selectKeys(db: Kysely<KeyTables>) {
  return db
    .selectFrom('keys')
    .innerJoin('tenants', 'tenants.id', 'keys.tenant_id')
    .selectAll('keys')
    .select('tenants.name as tenant');
}

export async function readKey(db: Kysely<KeyTables>, id: string): Promise<KeyWithSecrets | undefined> {
  const row = await selectKeys(db).where('keys.id', '=', id).executeTakeFirst();
  return row && (await withSecrets(db, [row]))[0];
}

export async function readRecipe(
  db: Kysely<KeyTables>,
  tenant_id: string,
  name: string,
): Promise<Recipe | undefined> {
  const query = db.selectFrom('recipes').selectAll().where('tenant_id', '=', tenant_id);
  return query.where('name', '=', name).executeTakeFirst();
}

export async function withSecrets(
  db: Kysely<KeyTables>,
  rows: (KeyRow & { tenant: string })[],
): Promise<KeyWithSecrets[]> {
  if (rows.length === 0) return [];
  const ids = rows.map((row) => row.id);
  const query = db.selectFrom('secrets').selectAll().where('key_id', 'in', ids);
  const byKey = new Map(ids.map((id) => [id, [] as Secret[]]));
  for (const secret of await query.orderBy('created_at').orderBy('id').execute()) {
    byKey.get(secret.key_id)?.push(secret);
  }
  return rows.map(({ tenant, ...row }) => ({ ...keyOf(row), tenant, secrets: byKey.get(row.id) ?? [] }));
}

/** An index's timing reveals nothing: knowing how much of a hash agrees does not help to choose a key. */
export async function findSecrets(db: Kysely<KeyTables>, hashes: string[]): Promise<FoundSecret[]> {
  if (hashes.length === 0) return [];
  const rows = await selectKeysWithTenants(db)
    .innerJoin('secrets', 'secrets.key_id', 'keys.id')
    .where('secrets.hash', 'in', hashes)
    .select(['secrets.hash', 'secrets.expires_at as secret_expires_at', 'secrets.ended_at'])
    .execute();
  return rows.map(({ hash, ended_at, secret_expires_at: expires_at, ...row }) => ({
    ...foundKey(row),
    secret: { hash, expires_at, ended_at },
  }));
}

export async function findKeys(db: Kysely<KeyTables>, ids: string[]): Promise<FoundKey[]> {
  if (ids.length === 0) return [];
  return (await selectKeysWithTenants(db).where('keys.id', 'in', ids).execute()).map(foundKey);
}

function selectKeysWithTenants(db: Kysely<KeyTables>) {
  return db
    .selectFrom('keys')
    .innerJoin('tenants', 'tenants.id', 'keys.tenant_id')
    .leftJoin('plans', 'plans.name', 'tenants.plan')
    .selectAll('tenants')
    .select(planColumns)
    .select([
      'keys.id as key_id',
      'keys.label',
      'keys.scopes',
      'keys.expires_at as key_expires_at',
      'keys.created_at as key_created_at',
      'keys.revoked_at',
      'keys.paused_at',
      'keys.last_used_at',
      'keys.signing_version',
      'keys.rate as key_rate',
      'keys.monthly_quota as key_monthly_quota',
      'keys.monthly_cpu_ms as key_monthly_cpu_ms',
    ]);
}

type KeyWithTenant = Awaited<ReturnType<ReturnType<typeof selectKeysWithTenants>['execute']>>[number];

function foundKey(row: KeyWithTenant): FoundKey {
  const { label, scopes, revoked_at, paused_at, last_used_at, signing_version } = row;
  const times = { created_at: row.key_created_at, expires_at: row.key_expires_at };
  const limits: KeyLimits = {
    rate: row.key_rate,
    monthly_quota: row.key_monthly_quota,
    monthly_cpu_ms: row.key_monthly_cpu_ms,
  };
  return {
    tenant: tenantOf(row),
    key: keyOf({
      ...{ id: row.key_id, tenant_id: row.id, label, scopes, ...times, ...limits },
      ...{ revoked_at, paused_at, last_used_at, signing_version },
    }),
  };
}
