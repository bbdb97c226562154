import { sql } from 'kysely';
import type { Access } from '../../database/database.js';
import { rowsPerTransaction, slices } from '../../database/rows.js';
import type { Item, ItemInput, ItemRef, Job } from '../model.js';
import { addResultBytes, type HeldBytes, type JobBytes, readHeld } from './capacity.js';
import { type Created, createJob, findMade, type NewJob } from './create.js';
import {
  forgetQueued,
  type HandOver,
  markQueued,
  readCancelled,
  readUnqueued,
  type Unqueued,
} from './outbox.js';
import { itemColumns, itemOf, type JobTables, jobColumns, readOpen } from './tables.js';
import {
  cancelJob,
  type EndedItem,
  type Finished,
  finishItems,
  handBackItems,
  type StartedItem,
  startItems,
} from './transitions.js';

/** A page of a list, in its order; `next` is what `after` is to be for the one behind it. */
interface Page<T, Next> {
  rows: T[];
  next: Next | null;
}

/** Numbers for the metrics, of all tenants. */
export interface JobStats {
  waiting: number;
  running: number;
  /** When the oldest job was made of which an item waits. */
  oldestWaitingAt: number | null;
}

/** Bytes of JSON on a page of items: errors can be long, and the main thread that parses and writes them serves everyone. */
const pageBytes = 900_000;
const itemsPerRead = 50;
/** What an item takes on a page beside its error or result. */
const itemBytes = 120;

export type JobStore = ReturnType<typeof createJobStore>;

/**
 * The truth about jobs and their items, in the gateway's database. Every method is one transaction, or several that may each run again:
 * a process may be killed between any two. What was not handed to the queue then is found again by `unqueued`.
 */
export function createJobStore(access: Access<JobTables>, { now = Date.now }: { now?: () => number } = {}) {
  const { run } = access;

  /** Each slice is a transaction, so that no other user waits long for one. */
  async function inSlices<T, R>(items: readonly T[], work: (slice: T[]) => Promise<R[]>): Promise<R[]> {
    const results: R[] = [];
    for (const slice of slices(items, rowsPerTransaction)) results.push(...(await work(slice)));
    return results;
  }

  return {
    /**
     * Makes a job with its items, of which there is at least one, whole or not at all. `fields` that are one and the same list in all
     * inputs are stored once. Rejects with `tenant_busy` where the tenant's jobs, this one included, would hold more than `most`.
     */
    create: (job: NewJob, inputs: readonly ItemInput[], most?: JobBytes): Promise<Created> =>
      createJob(access, job, inputs, { now: now(), most }),

    /** What `create` would give for an idempotency key that has made a job which has not ended at `endedAfter` or before. */
    made: (
      tenant_id: string,
      idempotency: NonNullable<NewJob['idempotency']>,
      endedAfter: number,
    ): Promise<Created | undefined> => run((db) => findMade(db, { tenant_id, idempotency }, endedAfter)),

    /** A tenant's job; undefined where it has none of this id. */
    job: (tenant: string, id: string): Promise<Job | undefined> =>
      run((db) =>
        db
          .selectFrom('jobs')
          .select(jobColumns)
          .where('id', '=', id)
          .where('tenant_id', '=', tenant)
          .executeTakeFirst(),
      ),

    /**
     * A tenant's jobs, the newest first, without those that ended at `endedAfter` or before; `after` is the id of the last one of the
     * page before, which need not be there any more.
     */
    async jobs(
      tenant: string,
      { limit, after, endedAfter }: { limit: number; after?: string | undefined; endedAfter: number },
    ): Promise<Page<Job, string>> {
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

    /** Items behind the index `after`, in their order. A page has fewer than `limit` where more would pass 1 MB as JSON. */
    async items(
      job: string,
      { limit, after = -1 }: { limit: number; after?: number | undefined },
    ): Promise<Page<Item, number>> {
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
          .where('job_id', '=', job)
          .where('idx', '=', index)
          .executeTakeFirst(),
      );
      return row && { ...itemOf(row), ...(row.text === null ? {} : { text: row.text }) };
    },

    /** Cancels what waits, once; gives the job as it is then, undefined where the tenant has none of this id. */
    cancel: (tenant: string, id: string): Promise<Job | undefined> =>
      cancelJob(access, { tenant, id }, now()),

    held: (tenant: string): Promise<HeldBytes> => run((db) => readHeld(db, tenant)),

    /** Notes that the input files of these jobs, which have ended, are removed. */
    async cleared(jobs: readonly string[]): Promise<void> {
      if (jobs.length === 0) return;
      await run((db) =>
        db
          .updateTable('jobs')
          .set({ bytes: 0 })
          .where('id', 'in', jobs)
          .where('finished_at', 'is not', null)
          .execute(),
      );
    },

    /** Jobs that have ended and whose input files are still to be removed. */
    async uncleared(most: number): Promise<string[]> {
      const rows = await run((db) =>
        db
          .selectFrom('jobs')
          .select('id')
          // With a sign, or SQLite goes through the index of all jobs that have ended.
          .where(sql<boolean>`+finished_at is not null and bytes > 0`)
          .limit(most)
          .execute(),
      );
      return rows.map(({ id }) => id);
    },

    async openTenants(): Promise<string[]> {
      const rows = await run((db) =>
        db.selectFrom('jobs').select('tenant_id').distinct().where('finished_at', 'is', null).execute(),
      );
      return rows.map(({ tenant_id }) => tenant_id);
    },

    /**
     * Items that are still to be handed to the queue: those of new jobs, and those of a job that has not moved for `idleMs`, which the
     * queue may have lost. They are given again and again until `queued` names them.
     */
    async unqueued({ idleMs, ...handOver }: HandOver & { idleMs: number }): Promise<Unqueued[]> {
      await forgetQueued(access, now() - idleMs, now());
      return readUnqueued(access, handOver);
    },

    /** Notes that the queue has items; gives those that have ended meanwhile. */
    queued: (items: readonly ItemRef[]): Promise<ItemRef[]> =>
      inSlices(items, (slice) => markQueued(access, slice, now())),

    /** Items of a job that were cancelled while they waited in the queue. */
    cancelled: (job: string): Promise<ItemRef[]> => readCancelled(access, job),

    /** Marks items as running and gives what is to be done; those that have ended, or whose job is gone, are left out. */
    start: (items: readonly ItemRef[]): Promise<StartedItem[]> =>
      inSlices(items, (slice) => startItems(access, slice, now())),

    /** Those of the items that have not ended. */
    open: (items: readonly ItemRef[]): Promise<ItemRef[]> =>
      inSlices(items, (slice) => readOpen(access, slice)),

    /**
     * Puts running items back to waiting, as if this start had not been, or with the attempt `counted`. One that another process has
     * started since is left to it.
     */
    async handBack(
      items: readonly (ItemRef & Pick<StartedItem, 'attempt'>)[],
      { counted } = { counted: false },
    ): Promise<void> {
      for (const slice of slices(items, rowsPerTransaction)) {
        await handBackItems(access, slice, { counted, now: now() });
      }
    },

    /**
     * Ends items, each once, whichever process tries: counts, usage and, with the last item, the job's end and its webhook's delivery
     * are in the same transaction.
     */
    async finish(items: readonly EndedItem[]): Promise<Finished> {
      const ended = await inSlices(items, async (slice) => [await finishItems(access, slice, now())]);
      return { items: ended.flatMap((each) => each.items), jobs: ended.flatMap((each) => each.jobs) };
    },

    /** Jobs that ended before this time, oldest first, without the `skip` first of them. */
    expired: (
      endedBefore: number,
      { most, skip = 0 }: { most: number; skip?: number },
    ): Promise<Pick<Job, 'id' | 'tenant_id'>[]> =>
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

    async known(ids: readonly string[]): Promise<string[]> {
      if (ids.length === 0) return [];
      const rows = await run((db) => db.selectFrom('jobs').select('id').where('id', 'in', ids).execute());
      return rows.map(({ id }) => id);
    },

    /** Removes a job and its items; one that is not there is no error. */
    remove: (job: string): Promise<void> => removeJob(access, job),

    async stats(): Promise<JobStats> {
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
          .executeTakeFirstOrThrow(),
      );
    },
  };
}

/** A page of rows, of which one more was read than it holds. */
function pageOf<T, Next>(rows: T[], limit: number, nextOf: (last: T) => Next): Page<T, Next> {
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
    // Of a tenant without jobs nothing is left to count, whatever an earlier version has not counted.
    await sql`
      delete from job_tenants where tenant_id = ${tenant}
        and not exists (select id from jobs where tenant_id = ${tenant})
    `.execute(trx);
  });
}
