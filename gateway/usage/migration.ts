import type { Kysely, Migration } from 'kysely';
import type { UsageTables } from './tables.js';

async function up(db: Kysely<UsageTables>): Promise<void> {
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
  await db.schema
    .createTable('usage_writers')
    .addColumn('id', 'text', (column) => column.primaryKey())
    .addColumn('batch', 'bigint', (column) => column.notNull())
    .addColumn('at', 'bigint', (column) => column.notNull())
    .execute();
  await db.schema
    .createTable('quota_use')
    .addColumn('tenant', 'text', (column) => column.notNull())
    .addColumn('month', 'text', (column) => column.notNull())
    .addColumn('used', 'bigint', (column) => column.notNull())
    .addPrimaryKeyConstraint('quota_use_pk', ['tenant', 'month'])
    .execute();
}

async function down(db: Kysely<UsageTables>): Promise<void> {
  for (const table of ['quota_use', 'usage_writers', 'usage_daily'] as const) {
    await db.schema.dropTable(table).execute();
  }
}

/**
 * The tables of usage figures and of quotas, for SQLite and PostgreSQL. No foreign keys: the figures outlive the
 * keys and tenants that they tell of.
 */
export const usageMigration: Migration = { up, down };
