import { type Kysely, type Selectable, sql } from 'kysely';
import type { Access } from '../database/access.js';
import type { FoundKey, FoundSecret, KeyWithSecrets, Secret } from './model.js';
import { auditOf, keyOf, tenantOf } from './rows.js';
import type { KeyPage, KeyReads } from './store.js';
import type { KeyRow, KeyTables } from './tables.js';

/** The reading half of the key store. */
export function createSqlReads({ run }: Access<KeyTables>): KeyReads {
  return {
    async tenants({ after, limit }) {
      const rows = await run((db) => {
        const query = db.selectFrom('tenants').selectAll().orderBy('name').limit(limit);
        return (after === undefined ? query : query.where('name', '>', after)).execute();
      });
      return rows.map(tenantOf);
    },
    async tenant(name) {
      const row = await run((db) =>
        db.selectFrom('tenants').selectAll().where('name', '=', name).executeTakeFirst(),
      );
      return row && tenantOf(row);
    },
    keys: (tenant_id, page) => run((db) => readKeys(db, tenant_id, page)),
    key: (id) => run((db) => readKey(db, id)),
    find: (hashes) => run((db) => findSecrets(db, hashes)),
    findKeys: (ids) => run((db) => findKeys(db, ids)),
    async audit({ tenant_id, key_id, before, limit }) {
      const rows = await run((db) => {
        let query = db.selectFrom('audit').selectAll().orderBy('id', 'desc').limit(limit);
        if (tenant_id !== undefined) query = query.where('tenant_id', '=', tenant_id);
        if (key_id !== undefined) query = query.where('key_id', '=', key_id);
        if (before !== undefined) query = query.where('id', '<', before);
        return query.execute();
      });
      return rows.map(auditOf);
    },
    lastChange: () => run((db) => changes(db).orderBy('id', 'desc').limit(1).executeTakeFirst()),
    changesFrom: (id, limit) =>
      run((db) => changes(db).where('id', '>=', id).orderBy('id').limit(limit).execute()),
  };
}

async function readKeys(
  db: Kysely<KeyTables>,
  tenant_id: string,
  { after, limit }: KeyPage,
): Promise<KeyWithSecrets[]> {
  let query = db.selectFrom('keys').selectAll().where('tenant_id', '=', tenant_id);
  if (after !== undefined) {
    const last = sql`(select created_at, id from keys where id = ${after})`;
    query = query.where(sql<boolean>`(created_at, id) > ${last}`);
  }
  return withSecrets(db, await query.orderBy('created_at').orderBy('id').limit(limit).execute());
}

export async function readKey(db: Kysely<KeyTables>, id: string): Promise<KeyWithSecrets | undefined> {
  const row = await db.selectFrom('keys').selectAll().where('id', '=', id).executeTakeFirst();
  return row && (await withSecrets(db, [row]))[0];
}

function changes(db: Kysely<KeyTables>) {
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
 * Looks secrets up by the SHA-256 of what was sent. That an index compares hashes byte by byte gives nothing away: who
 * could learn how much of a hash agreed still could not choose a key whose hash agrees further.
 */
async function findSecrets(db: Kysely<KeyTables>, hashes: string[]): Promise<FoundSecret[]> {
  if (hashes.length === 0) return [];
  const rows = await keysWithTenants(db)
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
  return rows.map((row) => ({
    ...foundKey(row),
    secret: {
      id: row.secret_id,
      key_id: row.key_id,
      hash: row.hash,
      prefix: row.prefix,
      suffix: row.suffix,
      created_at: row.secret_created_at,
      expires_at: row.secret_expires_at,
      ended_at: row.ended_at,
    },
  }));
}

async function findKeys(db: Kysely<KeyTables>, ids: string[]): Promise<FoundKey[]> {
  if (ids.length === 0) return [];
  return (await keysWithTenants(db).where('keys.id', 'in', ids).execute()).map(foundKey);
}

function keysWithTenants(db: Kysely<KeyTables>) {
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

type KeyWithTenant = Awaited<ReturnType<ReturnType<typeof keysWithTenants>['execute']>>[number];

function foundKey(row: KeyWithTenant): FoundKey {
  return {
    tenant: tenantOf(row),
    key: keyOf({
      id: row.key_id,
      tenant_id: row.id,
      label: row.label,
      scopes: row.scopes,
      expires_at: row.key_expires_at,
      created_at: row.key_created_at,
      revoked_at: row.revoked_at,
      last_used_at: row.last_used_at,
      signing_version: row.signing_version,
    }),
  };
}
