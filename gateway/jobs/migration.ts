import { type Kysely, sql } from 'kysely';
import type { DatabaseKind } from '../database/database.js';

/** Makes the tables of jobs, their queue, and what is to be told of them. */
export async function createAllJobTables(db: Kysely<unknown>, kind: DatabaseKind): Promise<void> {
  await createJobTables(db, kind);
  await createQueueTable(db, kind);
  await createDeliveryTable(db, kind);
}

/** Makes the tables of jobs and their items, and of where their bytes lie. */
async function createJobTables(db: Kysely<unknown>, kind: DatabaseKind): Promise<void> {
  const text = kind === 'postgres' ? sql`text collate "C"` : 'text';
  await db.schema
    .createTable('jobs')
    .addColumn('id', text, (column) => column.primaryKey())
    .addColumn('tenant_id', text, (column) => column.notNull())
    .addColumn('key_id', text, (column) => column.notNull())
    .addColumn('service', 'text', (column) => column.notNull())
    .addColumn('webhook_url', 'text')
    .addColumn('idempotency_key', text)
    .addColumn('idempotency_digest', 'text')
    .addColumn('bytes', 'bigint', (column) => column.notNull())
    .addColumn('fields', 'text')
    .addColumn('created_at', 'bigint', (column) => column.notNull())
    .addColumn('moved_at', 'bigint', (column) => column.notNull())
    .addColumn('cancelled_at', 'bigint')
    .addColumn('finished_at', 'bigint')
    .addColumn('total', 'integer', (column) => column.notNull())
    .addColumn('unqueued', 'integer', (column) => column.notNull())
    .addColumn('started', 'integer', (column) => column.notNull())
    .addColumn('running', 'integer', (column) => column.notNull())
    .addColumn('done', 'integer', (column) => column.notNull())
    .addColumn('failed', 'integer', (column) => column.notNull())
    .addColumn('cancelled', 'integer', (column) => column.notNull())
    .execute();
  await db.schema
    .createIndex('jobs_idempotency')
    .unique()
    .on('jobs')
    .columns(['tenant_id', 'idempotency_key'])
    .execute();
  await db.schema.createIndex('jobs_of_tenant').on('jobs').columns(['tenant_id', 'id']).execute();
  await sql`create index jobs_open on jobs (tenant_id, id, bytes) where finished_at is null`.execute(db);
  await sql`create index jobs_ended on jobs (finished_at, id) where finished_at is not null`.execute(db);
  await db.schema
    .createTable('job_items')
    .addColumn('job_id', text, (column) => column.notNull().references('jobs.id').onDelete('cascade'))
    .addColumn('idx', 'integer', (column) => column.notNull())
    .addColumn('state', 'text', (column) => column.notNull())
    .addColumn('queued', 'integer', (column) => column.notNull())
    .addColumn('attempts', 'integer', (column) => column.notNull())
    .addColumn('input', 'text', (column) => column.notNull())
    .addColumn('ended', 'text')
    .addPrimaryKeyConstraint('job_items_key', ['job_id', 'idx'])
    .execute();
  // What is to be done is found here, however much has been done; a state that changes on the way leaves it as it is.
  await sql`create index job_items_open on job_items (job_id, idx) where ended is null`.execute(db);
  await createSharedStoreTable(db);
}

async function createSharedStoreTable(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable('job_result_store')
    .addColumn('one', 'integer', (column) => column.primaryKey().check(sql`one = 1`))
    .addColumn('store', 'text', (column) => column.notNull())
    .execute();
}

/** Keeps small results with their items. */
export async function addResultText(db: Kysely<unknown>): Promise<void> {
  await sql`alter table job_items add column text text`.execute(db);
}

/** Counts what results hold, by job and by tenant, and inputs until they are removed. */
export async function addJobRoom(db: Kysely<unknown>, kind: DatabaseKind): Promise<void> {
  const text = kind === 'postgres' ? sql`text collate "C"` : 'text';
  const bytesOf =
    kind === 'postgres' ? sql`cast(ended as json) #>> '{result,bytes}'` : sql`ended ->> '$.result.bytes'`;
  // Of a job that a gateway of the version before makes beside this one, nobody says that it has no files.
  await sql`alter table jobs add column files integer not null default 1`.execute(db);
  await sql`alter table jobs add column result_bytes bigint not null default 0`.execute(db);
  await db.schema
    .createTable('job_tenants')
    .addColumn('tenant_id', text, (column) => column.primaryKey())
    .addColumn('result_bytes', 'bigint', (column) => column.notNull())
    .execute();
  await sql`
    update jobs set bytes = case when finished_at is null then bytes else 0 end, result_bytes = (
      select coalesce(sum(cast(${bytesOf} as bigint)), 0) from job_items where job_id = jobs.id and ended is not null
    )
  `.execute(db);
  await sql`
    insert into job_tenants (tenant_id, result_bytes) select tenant_id, sum(result_bytes) from jobs group by tenant_id
  `.execute(db);
  await sql`create index jobs_holding on jobs (tenant_id, finished_at, bytes) where bytes > 0`.execute(db);
}

/** Makes the queue that the embedded database has for itself; where there is PostgreSQL, BullMQ brings its own tables. */
async function createQueueTable(db: Kysely<unknown>, kind: DatabaseKind): Promise<void> {
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

/** Makes the table of what is to be told to webhooks. */
async function createDeliveryTable(db: Kysely<unknown>, kind: DatabaseKind): Promise<void> {
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
