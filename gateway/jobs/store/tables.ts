import { type RawBuilder, sql, type Transaction } from 'kysely';
import type { Access, DatabaseKind } from '../../database/database.js';
import { givenRows, groupBy } from '../../database/rows.js';
import type { UsageTables } from '../../usage/store.js';
import type { Item, ItemEnd, ItemInput, ItemRef, ItemState, Job } from '../model.js';
import type { DeliveryTables } from '../webhooks/delivery-store.js';

/** A job and what the store needs to know of it besides. Times are ms since 1970. */
export interface JobRow extends Job {
  idempotency_key: string | null;
  idempotency_digest: string | null;
  /** 1 where there are files among its inputs. */
  files: number;
  result_bytes: number;
  /** Fields of a form that all items share, in JSON. */
  fields: string | null;
  /** When something last became of it: an item began, came back, ended or went to the queue. */
  moved_at: number;
  /** Items that have not ended and that the queue has not been given. */
  unqueued: number;
  /** Items in this state. */
  running: number;
}

interface ItemRow {
  job_id: string;
  idx: number;
  state: string;
  /** 1 once the queue has it. */
  queued: number;
  /** How often it was started and not handed back. */
  attempts: number;
  /** An `ItemInput` in JSON, but for fields that stand at the job; empty once the item has ended. */
  input: string;
  /** What has come of it in JSON; null as long as it is open. */
  ended: string | null;
  /** Its result, where that is small JSON; else null, and the result lies in the result store. */
  text: string | null;
}

/** What a tenant's jobs hold together, those included that have ended. */
interface JobTenantRow {
  tenant_id: string;
  result_bytes: number;
}

/** The tables that the store writes: its own, and what an item's end adds to. */
export type JobTables = { jobs: JobRow; job_items: ItemRow; job_tenants: JobTenantRow } & UsageTables &
  DeliveryTables;

export const jobColumns = [
  'id',
  'tenant_id',
  'key_id',
  'service',
  'webhook_url',
  'bytes',
  'created_at',
  'cancelled_at',
  'finished_at',
  'total',
  'started',
  'done',
  'failed',
  'cancelled',
] as const satisfies (keyof Job)[];

export const itemColumns = ['job_id', 'idx', 'state', 'ended'] as const satisfies (keyof ItemRow)[];

export function refOf({ job_id, idx }: Pick<ItemRow, 'job_id' | 'idx'>): ItemRef {
  return { job: job_id, index: idx };
}

export function itemOf(row: Pick<ItemRow, (typeof itemColumns)[number]>): Item {
  const { result, error } = row.ended === null ? {} : (JSON.parse(row.ended) as Partial<Item>);
  return {
    ...refOf(row),
    state: row.state as ItemState,
    ...(result && { result }),
    ...(error && { error }),
  };
}

/** What `itemOf` reads again. */
export function endedText(end: ItemEnd): string {
  if (end.state === 'done') return JSON.stringify({ result: end.result });
  return JSON.stringify(end.state === 'failed' ? { error: end.error } : {});
}

export type Fields = NonNullable<ItemInput['fields']>;

/** What is stored of an input where its fields stand at the job. */
export function inputText({ fields, ...own }: ItemInput, shared: Fields | undefined): string {
  return JSON.stringify(fields === undefined || fields === shared ? own : { ...own, fields });
}

export function inputOf(text: string, shared: Fields | undefined): ItemInput {
  const own = JSON.parse(text) as ItemInput;
  return shared ? { fields: shared, ...own } : own;
}

/** The fields of a job that all its items share. */
export function fieldsOf({ fields }: Pick<JobRow, 'fields'>): Fields | undefined {
  return fields === null ? undefined : JSON.parse(fields);
}

/** An item that has not ended, and that no other process changes until the transaction ends. */
export type OpenItem = Omit<ItemRow, 'ended' | 'input'>;

/**
 * Locks those of the items that have not ended, in one order everywhere: two who want the same ones wait for each other and never in
 * a ring. Every transaction locks items first, then jobs by their ids, then usage.
 */
export async function lockOpen(
  trx: Transaction<JobTables>,
  kind: DatabaseKind,
  refs: readonly ItemRef[],
): Promise<OpenItem[]> {
  const { rows } = await sql<OpenItem>`
    select job_items.job_id, job_items.idx, job_items.state, job_items.queued, job_items.attempts
    from ${givenRefs(kind, refs)} cross join job_items
    where job_items.job_id = given.value ->> 0 and job_items.idx = cast(given.value ->> 1 as integer)
      and job_items.ended is null
    order by job_items.job_id, job_items.idx ${forUpdate(kind)}
  `.execute(trx);
  return rows;
}

/** Those of the items that have not ended, at the moment. */
export async function readOpen(
  { run, kind }: Access<JobTables>,
  refs: readonly ItemRef[],
): Promise<ItemRef[]> {
  const { rows } = await run((db) =>
    sql<Pick<ItemRow, 'job_id' | 'idx'>>`
      select job_items.job_id, job_items.idx from ${givenRefs(kind, refs)} cross join job_items
      where job_items.job_id = given.value ->> 0 and job_items.idx = cast(given.value ->> 1 as integer)
        and job_items.ended is null
    `.execute(db),
  );
  return rows.map(refOf);
}

/** Locks all items of a job that have not ended, which stay where they are: there may be ten thousand. */
export async function lockOpenOf(
  trx: Transaction<JobTables>,
  kind: DatabaseKind,
  job: string,
): Promise<void> {
  if (kind === 'sqlite') return;
  await sql`
    select count(*) from (
      select 1 from job_items where job_id = ${job} and ended is null order by job_id, idx for update
    ) as locked
  `.execute(trx);
}

/** Which items are meant, as the condition of a statement. */
export function amongRefs(kind: DatabaseKind, items: readonly Pick<ItemRow, 'job_id' | 'idx'>[]) {
  const refs = items.map(({ job_id, idx }) => ({ job: job_id, index: idx }));
  return sql<boolean>`(job_id, idx) in
    (select given.value ->> 0, cast(given.value ->> 1 as integer) from ${givenRefs(kind, refs)})`;
}

/** Each once, however often it is named. */
function givenRefs(kind: DatabaseKind, refs: readonly ItemRef[]): RawBuilder<unknown> {
  const rows = new Map(refs.map(({ job, index }) => [itemName(job, index), [job, index]]));
  return givenRows(kind, [...rows.values()]);
}

export function itemName(job: string, index: number): string {
  return `${job} ${index}`;
}

/** SQLite has one writer at a time, which this transaction is. */
function forUpdate(kind: DatabaseKind): RawBuilder<unknown> {
  return kind === 'postgres' ? sql`for update of job_items` : sql``;
}

/** Items by their jobs, and these by their ids, as they are to be locked. */
export function byJob<T extends Pick<ItemRow, 'job_id'>>(items: readonly T[]): [string, T[]][] {
  return [...groupBy(items, ({ job_id }) => job_id)].sort(([a], [b]) => (a < b ? -1 : 1));
}

/** What is added to a job's counts. */
type Counts = Partial<
  Pick<JobRow, 'unqueued' | 'started' | 'running' | 'done' | 'failed' | 'cancelled' | 'result_bytes'>
>;

/**
 * Adds to a job's counts, and ends it with its last item; what was given to all its items is removed then. Gives the job as it is
 * then; undefined where there is none of this id.
 * Counts are changed here alone, so that one transaction after the other sees them whole.
 */
export async function moveJob(
  trx: Transaction<JobTables>,
  id: string,
  counts: Counts,
  now: number,
): Promise<Job | undefined> {
  const { done = 0, failed = 0, cancelled = 0 } = counts;
  const ended = done + failed + cancelled;
  const ends = sql`finished_at is null and done + failed + cancelled + ${ended} >= total`;
  const added = Object.entries(counts).map(([name, count]) => [name, sql`${sql.ref(name)} + ${count}`]);
  return trx
    .updateTable('jobs')
    .set({
      ...Object.fromEntries(added),
      moved_at: now,
      ...(ended > 0 && {
        finished_at: sql`case when ${ends} then cast(${now} as bigint) else finished_at end`,
        fields: sql`case when ${ends} then null else fields end`,
        bytes: sql`case when ${ends} and files = 0 then 0 else bytes end`,
      }),
    })
    .where('id', '=', id)
    .returning(jobColumns)
    .executeTakeFirst();
}
