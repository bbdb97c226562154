import { type Kysely, sql } from 'kysely';
import type { DatabaseKind } from '../../database/access.js';

/** Makes the table of what is to be told to webhooks. */
export async function createDeliveryTable(db: Kysely<unknown>, kind: DatabaseKind): Promise<void> {
  const text = kind === 'postgres' ? sql`text collate "C"` : 'text';
  await db.schema
    .createTable('webhook_deliveries')
    .addColumn('id', text, (column) => column.primaryKey())
    .addColumn('tenant_id', text, (column) => column.notNull())
    .addColumn('url', 'text', (column) => column.notNull())
    .addColumn('payload', 'text', (column) => column.notNull())
    .addColumn('created_at', 'bigint', (column) => column.notNull())
    .addColumn('due_at', 'bigint', (column) => column.notNull())
    .addColumn('attempts', 'integer', (column) => column.notNull())
    .execute();
  await db.schema
    .createIndex('webhook_deliveries_due')
    .on('webhook_deliveries')
    .columns(['tenant_id', 'due_at'])
    .execute();
}
