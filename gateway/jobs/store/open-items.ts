import { type RawBuilder, sql, type Transaction } from 'kysely';
import type { Access, DatabaseKind } from '../../database/access.js';
import { givenRows } from '../../database/given-rows.js';
import type { ItemRef } from '../model.js';
import { refOf } from './rows.js';
import type { ItemRow, JobTables } from './tables.js';

/** An item that has not ended, and that nobody else changes until the transaction ends. */
export type OpenItem = Omit<ItemRow, 'ended' | 'input'>;

/**
 * Locks those of the items that have not ended, in one order everywhere: two who want the same ones wait for each other and never in
 * a ring. Every transaction takes items first, then jobs by their ids, then usage.
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

/** Tells one item from another. */
export function itemName(job: string, index: number): string {
  return `${job} ${index}`;
}

/** SQLite has one writer at a time, which this transaction is. */
function forUpdate(kind: DatabaseKind): RawBuilder<unknown> {
  return kind === 'postgres' ? sql`for update of job_items` : sql``;
}

/** Items by their jobs, and these by their ids, as they are to be locked. */
export function byJob<T extends Pick<ItemRow, 'job_id'>>(items: readonly T[]): [string, T[]][] {
  const found = new Map<string, T[]>();
  for (const item of items) {
    const of = found.get(item.job_id);
    if (of) of.push(item);
    else found.set(item.job_id, [item]);
  }
  return [...found].sort(([a], [b]) => (a < b ? -1 : 1));
}
