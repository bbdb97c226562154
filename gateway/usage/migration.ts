import type { Kysely } from 'kysely';

/** Makes the table of usage figures. No foreign keys: the figures outlive the keys and tenants that they tell of. */
export async function createUsageTable(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable('usage_daily')
    .addColumn('tenant', 'text', (column) => column.notNull())
    .addColumn('day', 'text', (column) => column.notNull())
    .addColumn('key_id', 'text', (column) => column.notNull())
    .addColumn('service', 'text', (column) => column.notNull())
    .addColumn('calls', 'bigint', (column) => column.notNull())
    .addColumn('errors_client', 'bigint', (column) => column.notNull())
    .addColumn('errors_limited', 'bigint', (column) => column.notNull())
    .addColumn('errors_server', 'bigint', (column) => column.notNull())
    .addColumn('bytes_in', 'bigint', (column) => column.notNull())
    .addColumn('bytes_out', 'bigint', (column) => column.notNull())
    .addColumn('cpu_ms', 'double precision', (column) => column.notNull())
    .addPrimaryKeyConstraint('usage_daily_pk', ['tenant', 'day', 'key_id', 'service'])
    .execute();
  await db.schema.createIndex('usage_daily_day').on('usage_daily').column('day').execute();
}
