import { type Kysely, sql } from 'kysely';
import type { DatabaseKind } from '../database/database.js';

/** Ids sort by their bytes on both databases. */
const idType = (kind: DatabaseKind) => (kind === 'postgres' ? sql`text collate "C"` : sql`text`);

/** Makes the tables of jobs and their items, of where their bytes lie, of their queue, and of their webhooks' deliveries. */
export async function createAllJobTables(db: Kysely<unknown>, kind: DatabaseKind): Promise<void> {
  const id = idType(kind);
  await sql`
    create table jobs (
      id ${id} primary key,
      tenant_id ${id} not null,
      key_id ${id} not null,
      service text not null,
      webhook_url text,
      idempotency_key ${id},
      idempotency_digest text,
      bytes bigint not null,
      fields text,
      created_at bigint not null,
      moved_at bigint not null,
      cancelled_at bigint,
      finished_at bigint,
      total integer not null,
      unqueued integer not null,
      started integer not null,
      running integer not null,
      done integer not null,
      failed integer not null,
      cancelled integer not null
    )
  `.execute(db);
  await sql`create unique index jobs_idempotency on jobs (tenant_id, idempotency_key)`.execute(db);
  await sql`create index jobs_of_tenant on jobs (tenant_id, id)`.execute(db);
  await sql`create index jobs_open on jobs (tenant_id, id, bytes) where finished_at is null`.execute(db);
  await sql`create index jobs_ended on jobs (finished_at, id) where finished_at is not null`.execute(db);
  await sql`
    create table job_items (
      job_id ${id} not null references jobs (id) on delete cascade,
      idx integer not null,
      state text not null,
      queued integer not null,
      attempts integer not null,
      input text not null,
      ended text,
      constraint job_items_key primary key (job_id, idx)
    )
  `.execute(db);
  // What is to be done is found here, however much has been done; a state that changes on the way leaves it as it is.
  await sql`create index job_items_open on job_items (job_id, idx) where ended is null`.execute(db);
  await sql`
    create table job_result_store (one integer primary key check (one = 1), store text not null)
  `.execute(db);
  if (kind === 'sqlite') await createQueueTable(db);
  await sql`
    create table webhook_deliveries (
      id ${id} primary key,
      tenant_id ${id} not null,
      url text not null,
      payload text not null,
      created_at bigint not null,
      due_at bigint not null,
      attempts integer not null
    )
  `.execute(db);
  await sql`create index webhook_deliveries_due on webhook_deliveries (tenant_id, due_at)`.execute(db);
}

/** The queue that the embedded database has for itself; where there is PostgreSQL, BullMQ brings its own tables. */
async function createQueueTable(db: Kysely<unknown>): Promise<void> {
  await sql`
    create table job_queue (
      place integer primary key autoincrement,
      tenant_id text not null,
      job_id text not null,
      idx integer not null,
      due_at bigint not null,
      token text
    )
  `.execute(db);
  await sql`create unique index job_queue_items on job_queue (job_id, idx)`.execute(db);
  await sql`create index job_queue_next on job_queue (tenant_id, due_at, place)`.execute(db);
}

/** Counts what results hold, by job and by tenant, and inputs until they are removed. */
export async function addJobRoom(db: Kysely<unknown>, kind: DatabaseKind): Promise<void> {
  const bytesOf =
    kind === 'postgres' ? sql`cast(ended as json) #>> '{result,bytes}'` : sql`ended ->> '$.result.bytes'`;
  // A job that a gateway of the version before makes beside this one does not say that it has no files.
  await sql`alter table jobs add column files integer not null default 1`.execute(db);
  await sql`alter table jobs add column result_bytes bigint not null default 0`.execute(db);
  await sql`
    create table job_tenants (tenant_id ${idType(kind)} primary key, result_bytes bigint not null)
  `.execute(db);
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

/** Finds a tenant's items in their order, by what no lease changes. */
export async function orderQueueByPlace(db: Kysely<unknown>, kind: DatabaseKind): Promise<void> {
  if (kind === 'postgres') return;
  await sql`create index job_queue_places on job_queue (tenant_id, place)`.execute(db);
  await sql`drop index job_queue_next`.execute(db);
}

/** Keeps small results with their items. */
export async function addResultText(db: Kysely<unknown>): Promise<void> {
  await sql`alter table job_items add column text text`.execute(db);
}
