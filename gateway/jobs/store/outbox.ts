import { sql } from 'kysely';
import type { Access } from '../../database/database.js';
import type { ItemRef } from '../model.js';
import {
  amongRefs,
  byJob,
  itemName,
  type JobTables,
  lockOpen,
  lockOpenOf,
  moveJob,
  refOf,
} from './tables.js';

/** How much is handed to the queue at a time. */
export interface HandOver {
  most: number;
  /** Items of a tenant that may wait in the queue. A tenant is given half as many at a time, the one first of which the fewest wait. */
  ahead: number;
}

export interface Unqueued {
  tenant: string;
  items: ItemRef[];
}

/** Items that the queue has not been given, tenant by tenant; of each its oldest jobs first. */
export async function readUnqueued(
  access: Access<JobTables>,
  { most, ahead }: HandOver,
): Promise<Unqueued[]> {
  const half = Math.ceil(ahead / 2);
  const found: Unqueued[] = [];
  let left = most;
  for (const tenant of await readHungry(access, half, most)) {
    const items = await readOldest(access, tenant, Math.min(half, left));
    if (items.length > 0) found.push({ tenant, items });
    left -= items.length;
    if (left <= 0) break;
  }
  return found;
}

/** Tenants with items for the queue of which fewer than so many wait there. */
async function readHungry({ run }: Access<JobTables>, fewer: number, most: number): Promise<string[]> {
  const waiting = sql<number>`sum(total - done - failed - cancelled - running - unqueued)`;
  const rows = await run((db) =>
    db
      .selectFrom('jobs')
      .select('tenant_id')
      .where('finished_at', 'is', null)
      .groupBy('tenant_id')
      .having(sql`sum(unqueued)`, '>', 0)
      .having(waiting, '<', fewer)
      .orderBy(waiting)
      .orderBy('tenant_id')
      .limit(most)
      .execute(),
  );
  return rows.map(({ tenant_id }) => tenant_id);
}

async function readOldest({ run }: Access<JobTables>, tenant: string, most: number): Promise<ItemRef[]> {
  const jobs = await run((db) =>
    db
      .selectFrom('jobs')
      .select('id')
      .where('tenant_id', '=', tenant)
      .where('finished_at', 'is', null)
      .where('unqueued', '>', 0)
      .orderBy('id')
      .limit(most)
      .execute(),
  );
  const items: ItemRef[] = [];
  for (const { id } of jobs) {
    if (items.length >= most) break;
    const rows = await run((db) =>
      db
        .selectFrom('job_items')
        .select(['job_id', 'idx'])
        .where('job_id', '=', id)
        .where('ended', 'is', null)
        .where('queued', '=', 0)
        .orderBy('idx')
        .limit(most - items.length)
        .execute(),
    );
    items.push(...rows.map(refOf));
  }
  return items;
}

/** Notes in one transaction that the queue has items; gives those of them that have ended meanwhile. */
export function markQueued(
  { change, kind }: Access<JobTables>,
  refs: readonly ItemRef[],
  now: number,
): Promise<ItemRef[]> {
  return change(async (trx) => {
    const open = await lockOpen(trx, kind, refs);
    const items = open.filter(({ queued }) => queued === 0);
    if (items.length > 0) {
      await trx.updateTable('job_items').set({ queued: 1 }).where(amongRefs(kind, items)).execute();
      for (const [id, of] of byJob(items)) await moveJob(trx, id, { unqueued: -of.length }, now);
    }
    const names = new Set(open.map(({ job_id, idx }) => itemName(job_id, idx)));
    return refs.filter(({ job, index }) => !names.has(itemName(job, index)));
  });
}

/** Items of a job that were cancelled while they waited in the queue. */
export async function readCancelled({ run }: Access<JobTables>, job: string): Promise<ItemRef[]> {
  const rows = await run((db) =>
    db
      .selectFrom('job_items')
      .select(['job_id', 'idx'])
      .where('job_id', '=', job)
      .where('state', '=', 'cancelled')
      .where('queued', '=', 1)
      .execute(),
  );
  return rows.map(refOf);
}

/**
 * Assumes that the queue has lost the items of each job that has not moved since `movedBefore`, so that it is given them again. Of a
 * tenant only the oldest job with items in the queue is looked at: the others wait behind it, and rightly do not move.
 */
export async function forgetQueued(
  { run, change, kind }: Access<JobTables>,
  movedBefore: number,
  now: number,
): Promise<void> {
  const isQueued = sql<boolean>`total - done - failed - cancelled > unqueued`;
  const still = await run((db) =>
    db
      .with('queued', (of) =>
        of
          .selectFrom('jobs')
          .select(['tenant_id', sql<string>`min(id)`.as('oldest')])
          .where('finished_at', 'is', null)
          .where(isQueued)
          .groupBy('tenant_id'),
      )
      .selectFrom('queued')
      .innerJoin('jobs', 'jobs.id', 'queued.oldest')
      .select('jobs.id')
      .where('jobs.moved_at', '<', movedBefore)
      .execute(),
  );
  for (const { id } of still) {
    await change(async (trx) => {
      await lockOpenOf(trx, kind, id);
      const { numUpdatedRows } = await trx
        .updateTable('job_items')
        .set({ queued: 0 })
        .where('job_id', '=', id)
        .where('ended', 'is', null)
        .where('queued', '=', 1)
        .executeTakeFirstOrThrow();
      await moveJob(trx, id, { unqueued: Number(numUpdatedRows) }, now);
    });
  }
}
