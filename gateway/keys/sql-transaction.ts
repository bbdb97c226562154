import type { Kysely } from 'kysely';

import type { AppendAudit } from './audit-log.js';
import { keyRow, tenantOf, tenantRow } from './rows.js';
import { readKey } from './sql-reads.js';
import type { KeyTransaction } from './store.js';
import type { KeyTables } from './tables.js';

/** The writes of one transaction. */
export function createSqlTransaction(db: Kysely<KeyTables>, audit: AppendAudit): KeyTransaction {
  return {
    async hasTenants() {
      return (await db.selectFrom('tenants').select('id').limit(1).executeTakeFirst()) !== undefined;
    },
    async tenant(name) {
      const row = await db.selectFrom('tenants').selectAll().where('name', '=', name).executeTakeFirst();
      return row && tenantOf(row);
    },
    key: (id) => readKey(db, id),
    async addTenant(tenant) {
      await db.insertInto('tenants').values(tenantRow(tenant)).execute();
    },
    async setLimits({ id, limits, weight }) {
      await db
        .updateTable('tenants')
        .set({ ...limits, weight })
        .where('id', '=', id)
        .execute();
    },
    async setWebhookVersion({ id, webhook_version, webhook_rotated_at }) {
      await db
        .updateTable('tenants')
        .set({ webhook_version, webhook_rotated_at })
        .where('id', '=', id)
        .execute();
    },
    async addKey(key) {
      await db.insertInto('keys').values(keyRow(key)).execute();
    },
    async revokeKey(id, revoked_at) {
      await db.updateTable('keys').set({ revoked_at }).where('id', '=', id).execute();
    },
    async setSigningVersion(id, signing_version) {
      await db.updateTable('keys').set({ signing_version }).where('id', '=', id).execute();
    },
    async addSecret(secret) {
      await db.insertInto('secrets').values(secret).execute();
    },
    async endSecret({ id, expires_at, ended_at }) {
      await db.updateTable('secrets').set({ expires_at, ended_at }).where('id', '=', id).execute();
    },
    audit,
  };
}
