import { type Kysely, sql } from 'kysely';
import type { DatabaseKind } from '../../database/access.js';

/** Makes the queue that the embedded database has for itself; where there is PostgreSQL, BullMQ brings its own tables. */
export async function createQueueTable(db: Kysely<unknown>, kind: DatabaseKind): Promise<void> {
  if (kind === 'postgres') return;
  await db.schema
    .createTable('job_queue')
    .addColumn('place', 'integer', (column) => column.primaryKey().autoIncrement())
    .addColumn('tenant_id', 'text', (column) => column.notNull())
    .addColumn('job_id', 'text', (column) => column.notNull())
    .addColumn('idx', 'integer', (column) => column.notNull())
    .addColumn('due_at', 'bigint', (column) => column.notNull())
    .addColumn('token', 'text')
    .execute();
  await sql`create unique index job_queue_items on job_queue (job_id, idx)`.execute(db);
  await sql`create index job_queue_next on job_queue (tenant_id, due_at, place)`.execute(db);
}

/** Finds a tenant's items in their order, by what no lease changes. */
export async function orderQueueByPlace(db: Kysely<unknown>, kind: DatabaseKind): Promise<void> {
  if (kind === 'postgres') return;
  await sql`create index job_queue_places on job_queue (tenant_id, place)`.execute(db);
  await sql`drop index job_queue_next`.execute(db);
}
