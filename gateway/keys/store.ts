import { type Kysely, type QueryExecutorProvider, type RawBuilder, type Selectable, sql } from 'kysely';
import type { Access, DatabaseKind } from '../database/database.js';
import { givenRows, rowsPerTransaction, slices } from '../database/rows.js';
import { type AuditPage, readAudit } from './audit-log.js';
import type { AuditEntry } from './audit-text.js';
import { createLists } from './lists.js';
import { defaultWeight, type Key, type Plan, type Recipe, type Secret, type Tenant } from './model.js';
import {
  findKeys,
  findSecrets,
  planOf,
  readKey,
  readPlan,
  readRecipe,
  readTenant,
  weightColumns,
} from './rows.js';
import type { KeyRow, KeyTables, TenantRow } from './tables.js';

/** What a change touched, with its audit entry's id and time. */
export type Change = Pick<AuditEntry, 'id' | 'at' | 'tenant_id' | 'key_id'> & { action: string };

type NewAuditEntry = Omit<AuditEntry, 'id'>;

type ChangeListener = (changes: Omit<Change, 'id'>[]) => void;

export type KeyStore = ReturnType<typeof createKeyStore>;

/** Tenants, keys and their audit log. Where the database does not answer, every method rejects with a `StoreError`. */
export function createKeyStore(access: Access<KeyTables>) {
  const listeners = new Set<ChangeListener>();
  const { kind, change } = access;
  return {
    ...createReads(access),
    ...createLists(access),
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

/** Tables of any module whose rows belong to the tenant that their `tenant_id` names, and go with it. */
const ownTables = [
  'keys',
  'recipes',
  'connect_members',
  'connect_readers',
  'connect_invitations',
  'webhook_deliveries',
];

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
    /** Whether there is a tenant, or was one. */
    async hasTenants(): Promise<boolean> {
      const ids = db
        .selectFrom('tenants')
        .select('id')
        .unionAll(db.selectFrom('former_tenants').select('id'));
      return (await ids.limit(1).executeTakeFirst()) !== undefined;
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
      // What older gateways go by.
      const inForce = sql<number>`coalesce(own_weight, cast(${weight} as bigint), ${defaultWeight})`;
      await db.updateTable('tenants').set({ weight: inForce }).where('plan', '=', plan.name).execute();
    },
    async deletePlan(name: string): Promise<void> {
      await db.deleteFrom('plans').where('name', '=', name).execute();
    },
    async tenantsOfPlan(name: string): Promise<number> {
      return (await db.selectFrom('tenants').select('id').where('plan', '=', name).execute()).length;
    },
    /** How much of each kind a tenant has. */
    contents: (id: string) => countContents(db, id),
    /** Removes a tenant with all that is its own but for jobs, which the maintenance of jobs removes. */
    async deleteTenant({ id, name }: Pick<Tenant, 'id' | 'name'>, deleted_at: number): Promise<void> {
      await sql`delete from secrets where key_id in (select id from keys where tenant_id = ${id})`.execute(
        db,
      );
      for (const table of ownTables)
        await sql`delete from ${sql.table(table)} where tenant_id = ${id}`.execute(db);
      await db.deleteFrom('tenants').where('id', '=', id).execute();
      await db.insertInto('former_tenants').values({ id, name, deleted_at }).execute();
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

const contentTables = { keys: 'keys', recipes: 'recipes', members: 'connect_people', jobs: 'jobs' } as const;

async function countContents(db: Kysely<KeyTables>, tenant_id: string) {
  const counts = Object.entries(contentTables).map(
    ([name, table]) =>
      sql`(select cast(count(*) as bigint) from ${sql.table(table)} where tenant_id = ${tenant_id}) as ${sql.ref(name)}`,
  );
  const { rows } = await sql<Record<keyof typeof contentTables, number>>`select ${sql.join(counts)}`.execute(
    db,
  );
  return rows[0] as Record<keyof typeof contentTables, number>;
}

/** What may be read of tenants, keys and their audit log. */
function createReads({ run, kind }: Access<KeyTables>) {
  async function readNames<Name>(
    ids: readonly string[],
    query: (given: RawBuilder<unknown>) => RawBuilder<unknown>,
  ) {
    if (ids.length === 0) return new Map<string, Name>();
    const named = query(sql.join([...new Set(ids)])).$castTo<{ id: string; name: Name }>();
    const { rows } = await run((db) => named.execute(db));
    return new Map(rows.map(({ id, name }) => [id, name]));
  }

  return {
    tenant: (name: string) => run((db) => readTenant(db, name)),
    /** How much of each kind a tenant has. */
    contents: (id: string) => run((db) => countContents(db, id)),
    /** What accounts have used in a month (`YYYY-MM`), by their names; see `QuotaTables`. */
    async used(accounts: readonly string[], month: string): Promise<Map<string, number>> {
      const { rows } = await run((db) =>
        sql<{ account: string; used: number }>`
          select tenant as account, used from quota_use where month = ${month} and tenant in (${sql.join(accounts)})
        `.execute(db),
      );
      return new Map(rows.map(({ account, used }) => [account, used]));
    },
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
    /** By name, each with how many tenants refer to it. */
    async plans(): Promise<(Plan & { tenants: number })[]> {
      const tenants = sql<number>`(select cast(count(*) as bigint) from tenants where plan = plans.name)`;
      const rows = await run((db) =>
        db.selectFrom('plans').selectAll().select(tenants.as('tenants')).orderBy('name').execute(),
      );
      return rows.map(({ tenants, ...row }) => ({ ...planOf(row), tenants }));
    },
    audit: (page: AuditPage): Promise<AuditEntry[]> => run((db) => readAudit(db, kind, page)),
    /** By id, those that were deleted too, which is said behind their names. */
    tenantNames: (ids: readonly string[]) =>
      readNames<string>(
        ids,
        (given) => sql`
          select id, name from tenants where id in (${given}) union all
          select id, name || ' (deleted)' from former_tenants where id in (${given})`,
      ),
    /** Of the keys that are still there, by id. */
    keyLabels: (ids: readonly string[]) =>
      readNames<string | null>(
        ids,
        (given) => sql`select id, label as name from keys where id in (${given})`,
      ),
    lastChange: (): Promise<Change | undefined> =>
      run((db) => selectChanges(db).orderBy('id', 'desc').limit(1).executeTakeFirst()),
    /** Changes from this id on, that one included, oldest first. */
    changesFrom: (id: number, limit: number): Promise<Change[]> =>
      run((db) => selectChanges(db).where('id', '>=', id).orderBy('id').limit(limit).execute()),
  };
}

function selectChanges(db: Kysely<KeyTables>) {
  return db.selectFrom('audit').select(['id', 'at', 'tenant_id', 'key_id', 'action']);
}
