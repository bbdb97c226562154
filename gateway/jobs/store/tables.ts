import { type Kysely, type RawBuilder, sql, type Transaction } from 'kysely';
import type { DatabaseKind } from '../../database/database.js';
import { givenRows, groupBy, rowsPerTransaction, slices } from '../../database/rows.js';
import type { UsageTables } from '../../usage/store.js';
import type { DeliveryTables } from '../../webhooks/delivery-store.js';
import {
  type Item,
  type ItemEnd,
  type ItemInput,
  type ItemRef,
  type ItemState,
  itemName,
  type Job,
} from '../model.js';

/** A job and what else the store needs to know of it. Times are ms since 1970. */
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

/** The tables that the store writes: its own, and what an item's end adds to. `job_tenants` counts ended jobs too. */
export type JobTables = {
  jobs: JobRow;
  job_items: ItemRow;
  job_tenants: { tenant_id: string; result_bytes: number };
} & UsageTables &
  DeliveryTables;

export const jobColumns = [
  ...(['id', 'tenant_id', 'key_id', 'service', 'webhook_url', 'bytes'] as const),
  ...(['created_at', 'cancelled_at', 'finished_at'] as const),
  ...(['total', 'started', 'done', 'failed', 'cancelled'] as const),
] satisfies (keyof Job)[];

/** Of a row of `job_items`: its `ItemRef`. */
export const refColumns = ['job_id as job', 'idx as index'] as const;
export const itemColumns = [...refColumns, 'state', 'ended'] as const;

export function itemOf({ ended, state, ...ref }: ItemRef & Pick<ItemRow, 'state' | 'ended'>): Item {
  const { result, error } = ended === null ? {} : (JSON.parse(ended) as Partial<Item>);
  return { ...ref, state: state as ItemState, ...(result && { result }), ...(error && { error }) };
}

/** What `itemOf` reads again. */
export function endedText(end: ItemEnd): string {
  if (end.state === 'done') return JSON.stringify({ result: end.result });
  return JSON.stringify(end.state === 'failed' ? { error: end.error } : {});
}

/** The ids that a query finds. */
export async function idsOf(query: { execute(): Promise<{ id: string }[]> }): Promise<string[]> {
  return (await query.execute()).map(({ id }) => id);
}

export function readJob(db: Kysely<JobTables>, tenant: string, id: string): Promise<Job | undefined> {
  const job = db.selectFrom('jobs').select(jobColumns);
  return job.where((eb) => eb.and({ id, tenant_id: tenant })).executeTakeFirst();
}

/** Whether items of a job are handed out: not while its tenant is suspended or its key paused, and not of a tenant that was deleted. */
export const isHandedOut = sql<boolean>`
  jobs.tenant_id not in (select id from tenants where suspended_at is not null)
  and jobs.tenant_id not in (select id from former_tenants)
  and jobs.key_id not in (select id from keys where paused_at is not null)`;

export type Fields = NonNullable<ItemInput['fields']>;

/** What is stored of an input where its fields stand at the job. */
export function inputText({ fields, ...own }: ItemInput, shared: Fields | undefined): string {
  return JSON.stringify(fields === undefined || fields === shared ? own : { ...own, fields });
}

export function inputOf(text: string, shared: Fields | undefined): ItemInput {
  const own = JSON.parse(text) as ItemInput;
  return shared ? { fields: shared, ...own } : own;
}

/** Does something with all items; each slice is a transaction, so that no other user waits long for one. */
export async function inSlices<T, R>(items: readonly T[], work: (slice: T[]) => Promise<R[]>): Promise<R[]> {
  const results: R[] = [];
  for (const slice of slices(items, rowsPerTransaction)) results.push(...(await work(slice)));
  return results;
}

/** An item that has not ended. */
export type OpenItem = ItemRef & Pick<ItemRow, 'state' | 'queued' | 'attempts'>;

/** Reads those of the items that have not ended, in order; with `forUpdate` they stay locked on PostgreSQL. */
export async function readOpen(
  db: Kysely<JobTables>,
  kind: DatabaseKind,
  refs: readonly ItemRef[],
  forUpdate = sql``,
): Promise<OpenItem[]> {
  const { rows } = await sql<OpenItem>`
    select job_items.job_id as job, job_items.idx as "index", job_items.state, job_items.queued, job_items.attempts
    from ${givenRefs(kind, refs)} cross join job_items
    where job_items.job_id = given.value ->> 0 and job_items.idx = cast(given.value ->> 1 as integer)
      and job_items.ended is null
    order by job_items.job_id, job_items.idx ${forUpdate}
  `.execute(db);
  return rows;
}

/** Locks open items, in one order everywhere: transactions lock items first, then jobs by their ids, then usage. */
export function lockOpen(trx: Transaction<JobTables>, kind: DatabaseKind, refs: readonly ItemRef[]) {
  // SQLite has one writer at a time, which this transaction is.
  return readOpen(trx, kind, refs, kind === 'postgres' ? sql`for update of job_items` : sql``);
}

/** Locks all items of a job that have not ended, without reading them: there may be ten thousand. */
export async function lockOpenOf(trx: Transaction<JobTables>, kind: DatabaseKind, job: string) {
  if (kind === 'sqlite') return;
  await sql`
    select count(*) from (
      select 1 from job_items where job_id = ${job} and ended is null order by job_id, idx for update
    ) as locked
  `.execute(trx);
}

/** Which items are meant, as the condition of a statement. */
export function amongRefs(kind: DatabaseKind, refs: readonly ItemRef[]) {
  return sql<boolean>`(job_id, idx) in
    (select given.value ->> 0, cast(given.value ->> 1 as integer) from ${givenRefs(kind, refs)})`;
}

/** Each once, however often it is named. */
function givenRefs(kind: DatabaseKind, refs: readonly ItemRef[]): RawBuilder<unknown> {
  const rows = new Map(refs.map((ref) => [itemName(ref), [ref.job, ref.index]]));
  return givenRows(kind, [...rows.values()]);
}

/** Items by their jobs, and these by their ids, as they are to be locked. */
export function byJob<T extends ItemRef>(items: readonly T[]): [string, T[]][] {
  return [...groupBy(items, ({ job }) => job)].sort(([a], [b]) => (a < b ? -1 : 1));
}

/** What is added to a job's counts. */
type Counts = Partial<
  Pick<JobRow, 'unqueued' | 'started' | 'running' | 'done' | 'failed' | 'cancelled' | 'result_bytes'>
>;

/** The one place that changes a job's counts; ends it with its last item. Returns it as it is then. */
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
