import { type RawBuilder, sql } from 'kysely';
import type { Access } from '../../database/database.js';
import { rowsPerTransaction } from '../../database/rows.js';
import type { Item, ItemRef, Job, JobState } from '../model.js';
import { addResultBytes, type HeldBytes, readHeld } from './capacity.js';
import { createMaking } from './create.js';
import { createOutbox } from './outbox.js';
import {
  idsOf,
  inSlices,
  isHandedOut,
  itemColumns,
  itemOf,
  type JobTables,
  jobColumns,
  readJob,
  readOpen,
} from './tables.js';
import { createTransitions } from './transitions.js';

/** Bytes of JSON on a page of items: errors can be long, and the main thread that parses and writes them serves everyone. */
const pageBytes = 900_000;
const itemsPerRead = 50;
/** What an item takes on a page beside its error or result. */
const itemBytes = 120;

/** A page of a tenant's jobs: behind the id `after`, or before the id `before`. */
export interface JobsPage {
  limit: number;
  after?: string | undefined;
  before?: string | undefined;
  state?: JobState | undefined;
}

/** `jobState` in SQL. */
const stateConditions: Record<JobState, RawBuilder<boolean>> = {
  waiting: sql`done + failed + cancelled < total and started = 0`,
  running: sql`done + failed + cancelled < total and started > 0`,
  done: sql`done + failed + cancelled >= total and (cancelled_at is null or cancelled = 0) and done > 0`,
  failed: sql`done + failed + cancelled >= total and (cancelled_at is null or cancelled = 0) and done = 0`,
  cancelled: sql`done + failed + cancelled >= total and cancelled_at is not null and cancelled > 0`,
};

export type JobStore = ReturnType<typeof createJobStore>;

/** The truth about jobs and their items. A process may be killed between any two transactions of a method. */
export function createJobStore(access: Access<JobTables>, { now = Date.now }: { now?: () => number } = {}) {
  const { run, kind } = access;

  return {
    ...createMaking(access, now),
    ...createOutbox(access, now),
    ...createTransitions(access, now),

    job: (tenant: string, id: string): Promise<Job | undefined> => run((db) => readJob(db, tenant, id)),

    /** The newest first, without those that ended by `endedAfter`. */
    async jobs(
      tenant: string,
      { limit, after, before, state, endedAfter }: JobsPage & { endedAfter: number },
    ) {
      const isBack = before !== undefined;
      const rows = await run((db) =>
        db
          .selectFrom('jobs')
          .select(jobColumns)
          .where('tenant_id', '=', tenant)
          .$if(after !== undefined, (query) => query.where('id', '<', after ?? ''))
          .$if(isBack, (query) => query.where('id', '>', before ?? ''))
          .$if(state !== undefined, (query) => query.where(stateConditions[state ?? 'waiting']))
          .where(({ eb, or }) => or([eb('finished_at', 'is', null), eb('finished_at', '>', endedAfter)]))
          .orderBy('id', isBack ? 'asc' : 'desc')
          .limit(limit + 1)
          .execute(),
      );
      const page = pageOf(rows, limit, ({ id }) => id);
      if (!isBack) return { ...page, previous: after === undefined ? null : (rows[0]?.id ?? null) };
      return { rows: page.rows.reverse(), previous: page.next, next: page.rows.at(-1)?.id ?? null };
    },

    /** Items behind the index `after`, in their order. A page has fewer than `limit` where more would pass 1 MB as JSON. */
    async items(job: string, { limit, after = -1 }: { limit: number; after?: number | undefined }) {
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
          const isFull = bytes > pageBytes && items.length > 0;
          items.push(itemOf(row));
          if (isFull) return pageOf(items, items.length - 1, ({ index }) => index);
        }
        if (rows.length < most || items.length > limit) return pageOf(items, limit, ({ index }) => index);
      }
    },

    async item({ job, index }: ItemRef): Promise<Item | undefined> {
      const row = await run((db) =>
        db
          .selectFrom('job_items')
          .select([...itemColumns, 'text'])
          .where((eb) => eb.and({ job_id: job, idx: index }))
          .executeTakeFirst(),
      );
      if (!row) return undefined;
      const { text, ...item } = row;
      return { ...itemOf(item), ...(text === null ? {} : { text }) };
    },

    held: (tenant: string): Promise<HeldBytes> => run((db) => readHeld(db, tenant)),

    /** Notes that the input files of a job, which has ended, are removed. */
    async cleared(id: string): Promise<void> {
      await run((db) =>
        sql`update jobs set bytes = 0 where id = ${id} and finished_at is not null`.execute(db),
      );
    },

    /** Jobs that have ended and whose input files are still to be removed. */
    uncleared: (most: number): Promise<string[]> =>
      run((db) =>
        idsOf(
          db
            .selectFrom('jobs')
            .select('id')
            // With a sign, or SQLite goes through the index of all jobs that have ended.
            .where(sql<boolean>`+finished_at is not null and bytes > 0`)
            .limit(most),
        ),
      ),

    /** Tenants with items to be worked on. */
    openTenants: (): Promise<string[]> =>
      run((db) => {
        const open = db.selectFrom('jobs').select('tenant_id as id').distinct();
        return idsOf(open.where('finished_at', 'is', null).where(isHandedOut));
      }),

    /** Those of the items that have not ended. */
    open: (items: readonly ItemRef[]): Promise<ItemRef[]> =>
      inSlices(items, async (slice) => {
        const open = await run((db) => readOpen(db, kind, slice));
        return open.map(({ job, index }) => ({ job, index }));
      }),

    /** Jobs that ended before this time, oldest first, without the `skip` first of them. */
    expired: (endedBefore: number, { most, skip }: { most: number; skip: number }): Promise<string[]> =>
      run((db) =>
        idsOf(
          db
            .selectFrom('jobs')
            .select('id')
            .where('finished_at', 'is not', null)
            .where('finished_at', '<', endedBefore)
            .orderBy('finished_at')
            .orderBy('id')
            .limit(most)
            .offset(skip),
        ),
      ),

    /** Jobs of tenants that were deleted, without the `skip` first of them. */
    ofFormerTenants: ({ most, skip }: { most: number; skip: number }): Promise<string[]> =>
      run(async (db) => {
        const { rows } = await sql<{ id: string }>`
          select jobs.id from former_tenants join jobs on jobs.tenant_id = former_tenants.id
          order by jobs.id limit ${most} offset ${skip}
        `.execute(db);
        return rows.map(({ id }) => id);
      }),

    /** Those of the ids that are jobs. */
    known: async (ids: readonly string[]): Promise<string[]> =>
      ids.length === 0 ? [] : run((db) => idsOf(db.selectFrom('jobs').select('id').where('id', 'in', ids))),

    /** Removes a job and its items; one that does not exist is no error. */
    remove: (job: string): Promise<void> => removeJob(access, job),

    /** Numbers for the metrics, of all tenants whose items are handed out; `oldestWaitingAt`: when the oldest job was made of which an item waits. */
    async stats() {
      const waiting = sql`total - done - failed - cancelled - running`;
      return run((db) =>
        db
          .selectFrom('jobs')
          .select([
            sql<number>`cast(coalesce(sum(${waiting}), 0) as bigint)`.as('waiting'),
            sql<number>`cast(coalesce(sum(running), 0) as bigint)`.as('running'),
            sql<number | null>`min(case when ${waiting} > 0 then created_at end)`.as('oldestWaitingAt'),
          ])
          .where('finished_at', 'is', null)
          .where(isHandedOut)
          .executeTakeFirstOrThrow(),
      );
    },
  };
}

/** A page of rows, of which one more was read than it holds; `next` is what `after` is to be for the one behind it. */
function pageOf<T, Next>(rows: T[], limit: number, nextOf: (last: T) => Next) {
  const page = rows.slice(0, limit);
  const last = page.at(-1);
  return { rows: page, next: rows.length > limit && last !== undefined ? nextOf(last) : null };
}

/** Its items in one transaction after the other, and itself at last, so that what was left half done is found again. */
async function removeJob({ run, change }: Access<JobTables>, job: string): Promise<void> {
  let deleted: number;
  do {
    const { numAffectedRows = 0n } = await run((db) =>
      sql`
        delete from job_items where job_id = ${job}
          and idx in (select idx from job_items where job_id = ${job} limit ${rowsPerTransaction})
      `.execute(db),
    );
    deleted = Number(numAffectedRows);
  } while (deleted >= rowsPerTransaction);
  await change(async (trx) => {
    const row = await trx.selectFrom('jobs').select('tenant_id').where('id', '=', job).executeTakeFirst();
    if (!row) return;
    const { tenant_id: tenant } = row;
    await addResultBytes(trx, tenant, 0);
    const removed = await trx
      .deleteFrom('jobs')
      .where('id', '=', job)
      .returning('result_bytes')
      .executeTakeFirst();
    if (removed) await addResultBytes(trx, tenant, -removed.result_bytes);
    // Its last items may have ended after its tenant was deleted.
    await sql`
      delete from webhook_deliveries where tenant_id = ${tenant} and tenant_id in (select id from former_tenants)
    `.execute(trx);
    // Of a tenant without jobs nothing is left to count, whatever an earlier version has not counted.
    await sql`
      delete from job_tenants where tenant_id = ${tenant}
        and not exists (select id from jobs where tenant_id = ${tenant})
    `.execute(trx);
  });
}
