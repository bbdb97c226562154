import type { Kysely } from 'kysely';

/** Makes the table of what tenants have used of their quotas. No foreign keys: as usage figures, it outlives the tenants. */
export async function createQuotaTable(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable('quota_use')
    .addColumn('tenant', 'text', (column) => column.notNull())
    .addColumn('month', 'text', (column) => column.notNull())
    .addColumn('used', 'bigint', (column) => column.notNull())
    .addPrimaryKeyConstraint('quota_use_pk', ['tenant', 'month'])
    .execute();
}
