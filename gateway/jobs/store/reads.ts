import { sql } from 'kysely';
import type { Access } from '../../database/access.js';
import type { Item } from '../model.js';
import type { JobStats, JobStore, Page } from './job-store.js';
import { readHeld } from './room.js';
import { itemColumns, itemOf, jobColumns } from './rows.js';
import type { JobTables } from './tables.js';

/**
 * A page of items holds about so many bytes as JSON, and at least one item. Errors can be long, and the main thread that parses and
 * writes them serves everyone: it reads them a few at a time.
 */
const pageBytes = 900_000;
const itemsARead = 50;
/** What an item takes on a page beside its error or result. */
const itemBytes = 120;

const indexOf = ({ index }: Item) => index;

/** What may be asked about jobs: one statement each, of which none reads the items of all. */
export function createReads({
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
        const most = Math.min(itemsARead, limit + 1 - items.length);
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
