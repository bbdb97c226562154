import { sql } from 'kysely';
import type { Access } from '../../database/database.js';
import { rowsPerTransaction, slices } from '../../database/rows.js';
import type { Item } from '../model.js';
import { addResultBytes, readHeld } from './capacity.js';
import { createJob, findMade } from './create.js';
import type { JobStats, JobStore, Page } from './job-store.js';
import { forgetQueued, markQueued, readCancelled, readUnqueued } from './outbox.js';
import { itemColumns, itemOf, type JobTables, jobColumns, readOpen } from './tables.js';
import { cancelJob, finishItems, handBackItems, startItems } from './transitions.js';

/** Jobs in the gateway's database. Many items are worked on in one transaction after the other, so that nobody waits long for one. */
export function createJobStore(
  access: Access<JobTables>,
  { now = Date.now }: { now?: () => number } = {},
): JobStore {
  /** Each slice is a transaction. */
  async function inSlices<T, R>(items: readonly T[], work: (slice: T[]) => Promise<R[]>): Promise<R[]> {
    const results: R[] = [];
    for (const slice of slices(items, rowsPerTransaction)) results.push(...(await work(slice)));
    return results;
  }

  return {
    ...createReads(access),
    create: (job, inputs, most) => createJob(access, job, inputs, { now: now(), most }),
    made: (tenant_id, idempotency, endedAfter) =>
      access.run((db) => findMade(db, { tenant_id, idempotency }, endedAfter)),
    cancel: (tenant, id) => cancelJob(access, { tenant, id }, now()),
    async unqueued({ idleMs, ...handOver }) {
      await forgetQueued(access, now() - idleMs, now());
      return readUnqueued(access, handOver);
    },
    queued: (items) => inSlices(items, (slice) => markQueued(access, slice, now())),
    cancelled: (job) => readCancelled(access, job),
    open: (items) => inSlices(items, (slice) => readOpen(access, slice)),
    start: (items) => inSlices(items, (slice) => startItems(access, slice, now())),
    async handBack(items, { counted } = { counted: false }) {
      for (const slice of slices(items, rowsPerTransaction)) {
        await handBackItems(access, slice, { counted, now: now() });
      }
    },
    async cleared(jobs) {
      if (jobs.length === 0) return;
      await access.run((db) =>
        db
          .updateTable('jobs')
          .set({ bytes: 0 })
          .where('id', 'in', jobs)
          .where('finished_at', 'is not', null)
          .execute(),
      );
    },
    async finish(items) {
      const ended = await inSlices(items, async (slice) => [await finishItems(access, slice, now())]);
      return { items: ended.flatMap((each) => each.items), jobs: ended.flatMap((each) => each.jobs) };
    },
    remove: (job) => removeJob(access, job),
  };
}

/**
 * A page of items holds about so many bytes as JSON, and at least one item. Errors can be long, and the main thread that parses and
 * writes them serves everyone: it reads them a few at a time.
 */
const pageBytes = 900_000;
const itemsPerRead = 50;
/** What an item takes on a page beside its error or result. */
const itemBytes = 120;

const indexOf = ({ index }: Item) => index;

/** What may be asked about jobs: one statement each, of which none reads the items of all. */
function createReads({
  run,
}: Access<JobTables>): Pick<
  JobStore,
  'job' | 'jobs' | 'items' | 'item' | 'held' | 'uncleared' | 'openTenants' | 'expired' | 'known' | 'stats'
> {
  return {
    job: (tenant, id) =>
      run((db) =>
        db
          .selectFrom('jobs')
          .select(jobColumns)
          .where('id', '=', id)
          .where('tenant_id', '=', tenant)
          .executeTakeFirst(),
      ),
    async jobs(tenant, { limit, after, endedAfter }) {
      const rows = await run((db) =>
        db
          .selectFrom('jobs')
          .select(jobColumns)
          .where('tenant_id', '=', tenant)
          .$if(after !== undefined, (query) => query.where('id', '<', after ?? ''))
          .where(({ eb, or }) => or([eb('finished_at', 'is', null), eb('finished_at', '>', endedAfter)]))
          .orderBy('id', 'desc')
          .limit(limit + 1)
          .execute(),
      );
      return pageOf(rows, limit, ({ id }) => id);
    },
    async items(job, { limit, after = -1 }) {
      const items: Item[] = [];
      let bytes = 0;
      for (;;) {
        const last = items.at(-1)?.index ?? after;
        const most = Math.min(itemsPerRead, limit + 1 - items.length);
        const rows = await run((db) =>
          db
            .selectFrom('job_items')
            .select(itemColumns)
            .where('job_id', '=', job)
            .where('idx', '>', last)
            .orderBy('idx')
            .limit(most)
            .execute(),
        );
        for (const row of rows) {
          bytes += itemBytes + Buffer.byteLength(row.ended ?? '');
          if (bytes > pageBytes && items.length > 0)
            return pageOf([...items, itemOf(row)], items.length, indexOf);
          items.push(itemOf(row));
        }
        if (rows.length < most || items.length > limit) return pageOf(items, limit, indexOf);
      }
    },
    async item({ job, index }) {
      const row = await run((db) =>
        db
          .selectFrom('job_items')
          .select([...itemColumns, 'text'])
          .where('job_id', '=', job)
          .where('idx', '=', index)
          .executeTakeFirst(),
      );
      return row && { ...itemOf(row), ...(row.text === null ? {} : { text: row.text }) };
    },
    held: (tenant) => run((db) => readHeld(db, tenant)),
    async uncleared(most) {
      const rows = await run((db) =>
        db
          .selectFrom('jobs')
          .select('id')
          // With a sign, or SQLite goes through the index of all jobs that have ended.
          .where(sql<boolean>`+finished_at is not null`)
          .where(sql<boolean>`bytes > 0`)
          .limit(most)
          .execute(),
      );
      return rows.map(({ id }) => id);
    },
    async openTenants() {
      const rows = await run((db) =>
        db.selectFrom('jobs').select('tenant_id').distinct().where('finished_at', 'is', null).execute(),
      );
      return rows.map(({ tenant_id }) => tenant_id);
    },
    expired: (endedBefore, { most, skip = 0 }) =>
      run((db) =>
        db
          .selectFrom('jobs')
          .select(['id', 'tenant_id'])
          .where('finished_at', 'is not', null)
          .where('finished_at', '<', endedBefore)
          .orderBy('finished_at')
          .orderBy('id')
          .limit(most)
          .offset(skip)
          .execute(),
      ),
    async known(ids) {
      if (ids.length === 0) return [];
      const rows = await run((db) => db.selectFrom('jobs').select('id').where('id', 'in', ids).execute());
      return rows.map(({ id }) => id);
    },
    async stats() {
      const waiting = sql`total - done - failed - cancelled - running`;
      const row = await run((db) =>
        db
          .selectFrom('jobs')
          .select([
            sql<number>`cast(coalesce(sum(${waiting}), 0) as bigint)`.as('waiting'),
            sql<number>`cast(coalesce(sum(running), 0) as bigint)`.as('running'),
            sql<number | null>`min(case when ${waiting} > 0 then created_at end)`.as('oldestWaitingAt'),
          ])
          .where('finished_at', 'is', null)
          .executeTakeFirstOrThrow(),
      );
      return row satisfies JobStats;
    },
  };
}

/** A page of rows, of which one more was read than it holds. */
function pageOf<T, Next>(rows: T[], limit: number, nextOf: (last: T) => Next): Page<T, Next> {
  const page = rows.slice(0, limit);
  const last = page.at(-1);
  return { rows: page, next: rows.length > limit && last !== undefined ? nextOf(last) : null };
}

/** Forgets a job: its items in one transaction after the other, and itself at last, so that what was left half done is found again. */
async function removeJob({ run, change }: Access<JobTables>, job: string): Promise<void> {
  let deleted: number;
  do {
    deleted = await run(async (db) => {
      const { numDeletedRows } = await db
        .deleteFrom('job_items')
        .where('job_id', '=', job)
        .where('idx', 'in', (eb) =>
          eb.selectFrom('job_items').select('idx').where('job_id', '=', job).limit(rowsPerTransaction),
        )
        .executeTakeFirstOrThrow();
      return Number(numDeletedRows);
    });
  } while (deleted >= rowsPerTransaction);
  await change(async (trx) => {
    const row = await trx.selectFrom('jobs').select('tenant_id').where('id', '=', job).executeTakeFirst();
    if (!row) return;
    await addResultBytes(trx, row.tenant_id, 0);
    const removed = await trx
      .deleteFrom('jobs')
      .where('id', '=', job)
      .returning('result_bytes')
      .executeTakeFirst();
    if (removed) await addResultBytes(trx, row.tenant_id, -removed.result_bytes);
    // Of a tenant without jobs nothing is left to count, whatever an earlier version has not counted.
    await trx
      .deleteFrom('job_tenants')
      .where('tenant_id', '=', row.tenant_id)
      .where(({ not, exists, selectFrom }) =>
        not(exists(selectFrom('jobs').select('id').where('tenant_id', '=', row.tenant_id))),
      )
      .execute();
  });
}
