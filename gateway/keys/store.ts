import { type Kysely, type QueryExecutorProvider, type Selectable, sql } from 'kysely';
import type { Access, DatabaseKind } from '../database/database.js';
import { givenRows, rowsPerTransaction, slices } from '../database/rows.js';
import {
  type AuditAction,
  type AuditEntry,
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

/** What a change touched, with its audit entry's id and time. */
export type Change = Pick<AuditEntry, 'id' | 'at' | 'tenant_id' | 'key_id'> & { action: string };

/** `after` is the last name or id of the page before. */
type ListPage = { after?: string | undefined; limit: number };

interface AuditPage {
  tenant_id?: string | undefined;
  key_id?: string | undefined;
  /** Only entries older than this id. */
  before?: number | undefined;
  limit: number;
}

type NewAuditEntry = Omit<AuditEntry, 'id'>;

type ChangeListener = (changes: Omit<Change, 'id'>[]) => void;

export type KeyStore = ReturnType<typeof createKeyStore>;

/** Tenants, keys and their audit log. Where the database does not answer, every method rejects with a `StoreError`. */
export function createKeyStore(access: Access<KeyTables>) {
  const listeners = new Set<ChangeListener>();
  const { kind, change } = access;
  return {
    ...createReads(access),
    /** Runs `work` in one transaction at a time over all processes; again after a conflict: it may only use `tx`. */
    async change<T>(work: (tx: KeyTransaction) => Promise<T>): Promise<T> {
      const { result, log } = await change(async (tx) => {
        const append = await openAuditLog(tx, kind);
        const log: NewAuditEntry[] = [];
        async function audit(entry: NewAuditEntry): Promise<void> {
          await append(entry);
          log.push(entry);
        }
        return { result: await work(createTransaction(tx, audit)), log };
      });
      for (const listener of listeners) listener(log);
      return result;
    },
    /** Reports this process's own changes, once committed; returns a function that ends this. */
    onChange(listener: ChangeListener): () => void {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    /** Writes when keys were last used (ms, by id), in this order; never moves a time back. */
    async touch(lastUsed: ReadonlyMap<string, number>): Promise<void> {
      const at = sql`cast(value ->> 1 as bigint)`;
      for (const part of slices([...lastUsed], rowsPerTransaction)) {
        const update = sql`
          update keys set last_used_at = ${at} from ${givenRows(kind, part)}
          where keys.id = value ->> 0 and (keys.last_used_at is null or keys.last_used_at < ${at})`;
        await change((tx) => update.execute(tx));
      }
    },
  };
}

/** Adds an entry; it is there if the transaction is committed, and not otherwise. */
type AppendAudit = (entry: NewAuditEntry) => Promise<void>;

/** Any number that nothing else locks; ASCII for `hgkeys`. */
const changeLock = 0x68676b657973;

/**
 * Opens the audit log in a transaction, before it touches a row. PostgreSQL hands out serial numbers before the
 * commit: without the lock, a reader of "all after 7" could see 9 and miss 8 for ever. SQLite has one writer anyway.
 */
export async function openAuditLog(trx: QueryExecutorProvider, kind: DatabaseKind): Promise<AppendAudit> {
  if (kind === 'postgres') await sql`select pg_advisory_xact_lock(${changeLock}::bigint)`.execute(trx);
  return async function appendAudit(entry) {
    const { at, actor, action, tenant_id, key_id, detail } = entry;
    // As text, since Kysely's handles are invariant: one that knows the site's tables too would not fit.
    await sql`
      insert into audit (at, actor, action, tenant_id, key_id, detail)
      values (${at}, ${actor}, ${action}, ${tenant_id}, ${key_id}, ${JSON.stringify(detail)})
    `.execute(trx);
  };
}

/** What may be done inside `KeyStore.change`. */
export type KeyTransaction = ReturnType<typeof createTransaction>;

function createTransaction(db: Kysely<KeyTables>, audit: AppendAudit) {
  return {
    async updateTenant(id: string, values: Partial<Selectable<TenantRow>>): Promise<void> {
      await db.updateTable('tenants').set(values).where('id', '=', id).execute();
    },
    async updateKey(id: string, values: Partial<KeyRow>): Promise<void> {
      await db.updateTable('keys').set(values).where('id', '=', id).execute();
    },
    async hasTenants(): Promise<boolean> {
      return (await db.selectFrom('tenants').select('id').limit(1).executeTakeFirst()) !== undefined;
    },
    tenant: (name: string) => readTenant(db, name),
    key: (id: string) => readKey(db, id),
    async addTenant(tenant: Tenant): Promise<void> {
      const { limits, plan, ...row } = tenant;
      await db
        .insertInto('tenants')
        .values({ ...row, ...limits, ...weightColumns(tenant), plan: plan?.name ?? null })
        .execute();
    },
    async addKey({ limits, ...key }: Key): Promise<void> {
      const scopes = key.scopes && JSON.stringify(key.scopes);
      await db
        .insertInto('keys')
        .values({ ...key, ...limits, scopes })
        .execute();
    },
    async addSecret(secret: Secret): Promise<void> {
      await db.insertInto('secrets').values(secret).execute();
    },
    async endSecret({ id, expires_at, ended_at }: Pick<Secret, 'id' | 'expires_at' | 'ended_at'>) {
      await db.updateTable('secrets').set({ expires_at, ended_at }).where('id', '=', id).execute();
    },
    plan: (name: string) => readPlan(db, name),
    /** Adds a plan, or replaces the one of this name. */
    async putPlan({ limits, weight, updated_at, ...plan }: Plan): Promise<void> {
      const values = { ...limits, weight, updated_at };
      const insert = db.insertInto('plans').values({ ...plan, ...values });
      await insert.onConflict((is) => is.column('name').doUpdateSet(values)).execute();
    },
    async deletePlan(name: string): Promise<void> {
      await db.deleteFrom('plans').where('name', '=', name).execute();
    },
    recipe: (tenant_id: string, name: string) => readRecipe(db, tenant_id, name),
    async countRecipes(tenant_id: string): Promise<number> {
      const names = db.selectFrom('recipes').select('name').where('tenant_id', '=', tenant_id);
      return (await names.execute()).length;
    },
    /** Adds a recipe, or replaces the tenant's one of this name. */
    async putRecipe(recipe: Recipe): Promise<void> {
      const { definition, updated_at } = recipe;
      const insert = db.insertInto('recipes').values(recipe);
      await insert
        .onConflict((is) => is.columns(['tenant_id', 'name']).doUpdateSet({ definition, updated_at }))
        .execute();
    },
    async deleteRecipe({ tenant_id, name }: Recipe): Promise<void> {
      const query = db.deleteFrom('recipes').where('tenant_id', '=', tenant_id);
      await query.where('name', '=', name).execute();
    },
    audit,
  };
}

/** What may be read of tenants, keys and their audit log. */
function createReads({ run }: Access<KeyTables>) {
  return {
    /** By name. */
    async tenants({ after, limit }: ListPage): Promise<Tenant[]> {
      const rows = await run((db) => {
        const query = selectTenants(db).orderBy('tenants.name').limit(limit);
        return (after === undefined ? query : query.where('tenants.name', '>', after)).execute();
      });
      return rows.map(tenantOf);
    },
    tenant: (name: string) => run((db) => readTenant(db, name)),
    /** Oldest first. */
    keys: (tenant_id: string, page: ListPage) => run((db) => readKeys(db, tenant_id, page)),
    key: (id: string) => run((db) => readKey(db, id)),
    /** What belongs to these hashes, in one read. */
    find: (hashes: string[]) => run((db) => findSecrets(db, hashes)),
    /** The keys with these ids, in one read. */
    findKeys: (ids: string[]) => run((db) => findKeys(db, ids)),
    /** By name. */
    recipes: (tenant_id: string): Promise<Recipe[]> =>
      run((db) => {
        const query = db.selectFrom('recipes').selectAll().where('tenant_id', '=', tenant_id);
        return query.orderBy('name').execute();
      }),
    recipe: (tenant_id: string, name: string) => run((db) => readRecipe(db, tenant_id, name)),
    /** By name. */
    async plans(): Promise<Plan[]> {
      const rows = await run((db) => db.selectFrom('plans').selectAll().orderBy('name').execute());
      return rows.map(planOf);
    },
    plan: (name: string) => run((db) => readPlan(db, name)),
    /** Newest first. */
    async audit({ tenant_id, key_id, before, limit }: AuditPage): Promise<AuditEntry[]> {
      const rows = await run((db) => {
        let query = db.selectFrom('audit').selectAll().orderBy('id', 'desc').limit(limit);
        if (tenant_id !== undefined) query = query.where('tenant_id', '=', tenant_id);
        if (key_id !== undefined) query = query.where('key_id', '=', key_id);
        if (before !== undefined) query = query.where('id', '<', before);
        return query.execute();
      });
      return rows.map((row) => ({
        ...row,
        action: row.action as AuditAction,
        detail: JSON.parse(row.detail),
      }));
    },
    lastChange: (): Promise<Change | undefined> =>
      run((db) => selectChanges(db).orderBy('id', 'desc').limit(1).executeTakeFirst()),
    /** Changes from this id on, that one included, oldest first. */
    changesFrom: (id: number, limit: number): Promise<Change[]> =>
      run((db) => selectChanges(db).where('id', '>=', id).orderBy('id').limit(limit).execute()),
  };
}

/** What is stored of a tenant's weight. */
export function weightColumns(tenant: Pick<Tenant, 'weight' | 'plan'>) {
  return { own_weight: tenant.weight, weight: weightInForce(tenant) };
}

/** Tenants with the values of their plans. */
function selectTenants(db: Kysely<KeyTables>) {
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

function tenantOf(row: TenantRead): Tenant {
  const { id, name, created_at, webhook_version, webhook_rotated_at, own_weight: weight } = row;
  const { suspended_at, external_id, note, notice_url } = row;
  const plan = row.plan === null ? null : planOfTenant(row.plan, row);
  return {
    ...{ id, name, created_at, limits: limitsOf(row), weight, plan },
    ...{ webhook_version, webhook_rotated_at, suspended_at, external_id, note, notice_url },
  };
}

function planOfTenant(name: string, row: Record<PlanColumn, number | null>): NonNullable<Tenant['plan']> {
  const limits: TenantLimits = {
    rate: row.plan_rate,
    burst: row.plan_burst,
    monthly_quota: row.plan_monthly_quota,
    in_flight: row.plan_in_flight,
    monthly_cpu_ms: row.plan_monthly_cpu_ms,
  };
  return { name, limits, weight: row.plan_weight };
}

function limitsOf({ rate, burst, monthly_quota, in_flight, monthly_cpu_ms }: TenantLimits): TenantLimits {
  return { rate, burst, monthly_quota, in_flight, monthly_cpu_ms };
}

function keyOf({ rate, monthly_quota, monthly_cpu_ms, scopes, ...key }: KeyRow): Key {
  const limits = { rate, monthly_quota, monthly_cpu_ms };
  return { ...key, limits, scopes: scopes === null ? null : JSON.parse(scopes) };
}

async function readTenant(db: Kysely<KeyTables>, name: string): Promise<Tenant | undefined> {
  const row = await selectTenants(db).where('tenants.name', '=', name).executeTakeFirst();
  return row && tenantOf(row);
}

function planOf({ name, weight, created_at, updated_at, ...limits }: PlanRow): Plan {
  return { name, limits: limitsOf(limits), weight, created_at, updated_at };
}

async function readPlan(db: Kysely<KeyTables>, name: string): Promise<Plan | undefined> {
  const row = await db.selectFrom('plans').selectAll().where('name', '=', name).executeTakeFirst();
  return row && planOf(row);
}

async function readKeys(
  db: Kysely<KeyTables>,
  tenant_id: string,
  { after, limit }: ListPage,
): Promise<KeyWithSecrets[]> {
  let query = db.selectFrom('keys').selectAll().where('tenant_id', '=', tenant_id);
  if (after !== undefined) {
    const last = sql`(select created_at, id from keys where id = ${after})`;
    query = query.where(sql<boolean>`(created_at, id) > ${last}`);
  }
  return withSecrets(db, await query.orderBy('created_at').orderBy('id').limit(limit).execute());
}

async function readKey(db: Kysely<KeyTables>, id: string): Promise<KeyWithSecrets | undefined> {
  const row = await db.selectFrom('keys').selectAll().where('id', '=', id).executeTakeFirst();
  return row && (await withSecrets(db, [row]))[0];
}

async function readRecipe(
  db: Kysely<KeyTables>,
  tenant_id: string,
  name: string,
): Promise<Recipe | undefined> {
  const query = db.selectFrom('recipes').selectAll().where('tenant_id', '=', tenant_id);
  return query.where('name', '=', name).executeTakeFirst();
}

function selectChanges(db: Kysely<KeyTables>) {
  return db.selectFrom('audit').select(['id', 'at', 'tenant_id', 'key_id', 'action']);
}

async function withSecrets(db: Kysely<KeyTables>, rows: Selectable<KeyRow>[]): Promise<KeyWithSecrets[]> {
  if (rows.length === 0) return [];
  const ids = rows.map((row) => row.id);
  const query = db.selectFrom('secrets').selectAll().where('key_id', 'in', ids);
  const byKey = new Map(ids.map((id) => [id, [] as Secret[]]));
  for (const secret of await query.orderBy('created_at').orderBy('id').execute()) {
    byKey.get(secret.key_id)?.push(secret);
  }
  return rows.map((row) => ({ ...keyOf(row), secrets: byKey.get(row.id) ?? [] }));
}

/** An index's timing reveals nothing: knowing how much of a hash agrees does not help to choose a key. */
async function findSecrets(db: Kysely<KeyTables>, hashes: string[]): Promise<FoundSecret[]> {
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

async function findKeys(db: Kysely<KeyTables>, ids: string[]): Promise<FoundKey[]> {
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
