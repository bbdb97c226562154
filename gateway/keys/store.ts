import { type Kysely, type QueryExecutorProvider, type Selectable, sql } from 'kysely';
import type { Access, DatabaseKind } from '../database/database.js';
import { givenRows, rowsPerTransaction, slices } from '../database/rows.js';
import type { AuditEntry, FoundKey, FoundSecret, Key, KeyWithSecrets, Secret, Tenant } from './model.js';
import {
  auditOf,
  auditRow,
  type KeyRow,
  type KeyTables,
  keyOf,
  keyRow,
  tenantOf,
  tenantRow,
} from './tables.js';

/** What a change touched. */
export interface Change {
  /** The audit entry's id and time. */
  id: number;
  at: number;
  tenant_id: string | null;
  key_id: string | null;
}

interface ListPage {
  /** The last name or id of the page before. */
  after?: string | undefined;
  limit: number;
}

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

/**
 * Tenants, keys and their audit log, in the gateway's database. Where that does not answer, every method rejects with a
 * `StoreError`, whose cause says why.
 */
export function createKeyStore(access: Access<KeyTables>) {
  const listeners = new Set<ChangeListener>();
  const { kind, change } = access;
  return {
    ...createReads(access),
    /**
     * Runs `work` as one transaction, one at a time over all processes: all of it is durable once this resolves, or
     * nothing of it happened. `work` may run again after a conflict, so it must do nothing but use `tx`.
     */
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
    /**
     * Writes when keys were last used (ms, by key id), in the order given and in many transactions where they are many; never moves
     * a time back.
     */
    async touch(lastUsed: ReadonlyMap<string, number>): Promise<void> {
      for (const part of slices([...lastUsed], rowsPerTransaction)) {
        await change((tx) => writeLastUsed(tx, kind, part));
      }
    },
  };
}

async function writeLastUsed(
  db: Kysely<KeyTables>,
  kind: DatabaseKind,
  rows: [id: string, at: number][],
): Promise<void> {
  await sql`
    update keys set last_used_at = cast(value ->> 1 as bigint) from ${givenRows(kind, rows)}
    where keys.id = value ->> 0 and (keys.last_used_at is null or keys.last_used_at < cast(value ->> 1 as bigint))
  `.execute(db);
}

/** Adds an entry; it is there if the transaction is committed, and not otherwise. */
type AppendAudit = (entry: NewAuditEntry) => Promise<void>;

/** Any number that nothing else locks; ASCII for `hgkeys`. */
const changeLock = 0x68676b657973;

/**
 * Opens the audit log for the rest of a transaction, of whichever module: to be called first in it. PostgreSQL hands out serial
 * numbers before the commit, so a reader who asks for "all after 7" could see 9, and miss 8 for ever when it is committed
 * later. One change at a time keeps the numbers in the order of the commits; and as all acquire this lock before they touch a
 * row, no two of them can wait for each other. SQLite has one writer anyway.
 */
export async function openAuditLog(trx: QueryExecutorProvider, kind: DatabaseKind): Promise<AppendAudit> {
  if (kind === 'postgres') await sql`select pg_advisory_xact_lock(${changeLock}::bigint)`.execute(trx);
  return async function appendAudit(entry) {
    const { at, actor, action, tenant_id, key_id, detail } = auditRow(entry);
    // As text, since Kysely's handles are invariant: one that knows the site's tables too would not fit.
    await sql`
      insert into audit (at, actor, action, tenant_id, key_id, detail)
      values (${at}, ${actor}, ${action}, ${tenant_id}, ${key_id}, ${detail})
    `.execute(trx);
  };
}

/** What may be done inside `KeyStore.change`. */
export type KeyTransaction = ReturnType<typeof createTransaction>;

function createTransaction(db: Kysely<KeyTables>, audit: AppendAudit) {
  return {
    async hasTenants(): Promise<boolean> {
      return (await db.selectFrom('tenants').select('id').limit(1).executeTakeFirst()) !== undefined;
    },
    tenant: (name: string) => readTenant(db, name),
    key: (id: string) => readKey(db, id),
    async addTenant(tenant: Tenant): Promise<void> {
      await db.insertInto('tenants').values(tenantRow(tenant)).execute();
    },
    async setLimits({ id, limits, weight }: Pick<Tenant, 'id' | 'limits' | 'weight'>): Promise<void> {
      const values = { ...limits, weight };
      await db.updateTable('tenants').set(values).where('id', '=', id).execute();
    },
    async setWebhookVersion({
      id,
      ...version
    }: Pick<Tenant, 'id' | 'webhook_version' | 'webhook_rotated_at'>): Promise<void> {
      await db.updateTable('tenants').set(version).where('id', '=', id).execute();
    },
    async addKey(key: Key): Promise<void> {
      await db.insertInto('keys').values(keyRow(key)).execute();
    },
    async revokeKey(id: string, revoked_at: number): Promise<void> {
      await db.updateTable('keys').set({ revoked_at }).where('id', '=', id).execute();
    },
    async setSigningVersion(id: string, signing_version: number): Promise<void> {
      await db.updateTable('keys').set({ signing_version }).where('id', '=', id).execute();
    },
    async addSecret(secret: Secret): Promise<void> {
      await db.insertInto('secrets').values(secret).execute();
    },
    async endSecret({ id, expires_at, ended_at }: Pick<Secret, 'id' | 'expires_at' | 'ended_at'>) {
      await db.updateTable('secrets').set({ expires_at, ended_at }).where('id', '=', id).execute();
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
        const query = db.selectFrom('tenants').selectAll().orderBy('name').limit(limit);
        return (after === undefined ? query : query.where('name', '>', after)).execute();
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
    /** Newest first. */
    async audit({ tenant_id, key_id, before, limit }: AuditPage): Promise<AuditEntry[]> {
      const rows = await run((db) => {
        let query = db.selectFrom('audit').selectAll().orderBy('id', 'desc').limit(limit);
        if (tenant_id !== undefined) query = query.where('tenant_id', '=', tenant_id);
        if (key_id !== undefined) query = query.where('key_id', '=', key_id);
        if (before !== undefined) query = query.where('id', '<', before);
        return query.execute();
      });
      return rows.map(auditOf);
    },
    lastChange: (): Promise<Change | undefined> =>
      run((db) => selectChanges(db).orderBy('id', 'desc').limit(1).executeTakeFirst()),
    /** Changes from this id on, that one included, oldest first. */
    changesFrom: (id: number, limit: number): Promise<Change[]> =>
      run((db) => selectChanges(db).where('id', '>=', id).orderBy('id').limit(limit).execute()),
  };
}

async function readTenant(db: Kysely<KeyTables>, name: string): Promise<Tenant | undefined> {
  const row = await db.selectFrom('tenants').selectAll().where('name', '=', name).executeTakeFirst();
  return row && tenantOf(row);
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

function selectChanges(db: Kysely<KeyTables>) {
  return db.selectFrom('audit').select(['id', 'at', 'tenant_id', 'key_id']);
}

async function withSecrets(db: Kysely<KeyTables>, rows: Selectable<KeyRow>[]): Promise<KeyWithSecrets[]> {
  if (rows.length === 0) return [];
  const ids = rows.map((row) => row.id);
  const secrets = await db
    .selectFrom('secrets')
    .selectAll()
    .where('key_id', 'in', ids)
    .orderBy('created_at')
    .orderBy('id')
    .execute();
  const byKey = new Map(ids.map((id) => [id, [] as Secret[]]));
  for (const secret of secrets) byKey.get(secret.key_id)?.push(secret);
  return rows.map((row) => ({ ...keyOf(row), secrets: byKey.get(row.id) ?? [] }));
}

/**
 * Looks secrets up by the SHA-256 of what was sent. That an index compares hashes byte by byte reveals nothing: somebody who
 * could learn how much of a hash agreed still could not choose a key whose hash agrees further.
 */
async function findSecrets(db: Kysely<KeyTables>, hashes: string[]): Promise<FoundSecret[]> {
  if (hashes.length === 0) return [];
  const rows = await selectKeysWithTenants(db)
    .innerJoin('secrets', 'secrets.key_id', 'keys.id')
    .where('secrets.hash', 'in', hashes)
    .select([
      'secrets.id as secret_id',
      'secrets.hash',
      'secrets.prefix',
      'secrets.suffix',
      'secrets.created_at as secret_created_at',
      'secrets.expires_at as secret_expires_at',
      'secrets.ended_at',
    ])
    .execute();
  return rows.map((row) => {
    const { hash, prefix, suffix, ended_at, key_id } = row;
    const times = { created_at: row.secret_created_at, expires_at: row.secret_expires_at, ended_at };
    return { ...foundKey(row), secret: { id: row.secret_id, key_id, hash, prefix, suffix, ...times } };
  });
}

async function findKeys(db: Kysely<KeyTables>, ids: string[]): Promise<FoundKey[]> {
  if (ids.length === 0) return [];
  return (await selectKeysWithTenants(db).where('keys.id', 'in', ids).execute()).map(foundKey);
}

function selectKeysWithTenants(db: Kysely<KeyTables>) {
  return db
    .selectFrom('keys')
    .innerJoin('tenants', 'tenants.id', 'keys.tenant_id')
    .selectAll('tenants')
    .select([
      'keys.id as key_id',
      'keys.label',
      'keys.scopes',
      'keys.expires_at as key_expires_at',
      'keys.created_at as key_created_at',
      'keys.revoked_at',
      'keys.last_used_at',
      'keys.signing_version',
    ]);
}

type KeyWithTenant = Awaited<ReturnType<ReturnType<typeof selectKeysWithTenants>['execute']>>[number];

function foundKey(row: KeyWithTenant): FoundKey {
  const { label, scopes, revoked_at, last_used_at, signing_version } = row;
  const times = { created_at: row.key_created_at, expires_at: row.key_expires_at, revoked_at, last_used_at };
  return {
    tenant: tenantOf(row),
    key: keyOf({ id: row.key_id, tenant_id: row.id, label, scopes, ...times, signing_version }),
  };
}
