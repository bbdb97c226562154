import type { Access } from '../../database/access.js';
import type { ItemRef } from '../model.js';
import { moveJob } from './move-job.js';
import { amongRefs, byJob, lockOpen, lockOpenOf } from './open-items.js';
import { refOf } from './rows.js';
import type { JobTables } from './tables.js';

export interface Unqueued {
  tenant: string;
  items: ItemRef[];
}

/** Items that the queue has not been given, oldest job first, `most` in all. */
export async function readUnqueued({ run }: Access<JobTables>, most: number): Promise<Unqueued[]> {
  const jobs = await run((db) =>
    db
      .selectFrom('jobs')
      .select(['id', 'tenant_id'])
      .where('finished_at', 'is', null)
      .where('unqueued', '>', 0)
      .orderBy('id')
      .limit(most)
      .execute(),
  );
  const found: Unqueued[] = [];
  let left = most;
  for (const { id, tenant_id } of jobs) {
    if (left <= 0) break;
    const items = await run((db) =>
      db
        .selectFrom('job_items')
        .select(['job_id', 'idx'])
        .where('job_id', '=', id)
        .where('ended', 'is', null)
        .where('queued', '=', 0)
        .orderBy('idx')
        .limit(left)
        .execute(),
    );
    left -= items.length;
    if (items.length > 0) found.push({ tenant: tenant_id, items: items.map(refOf) });
  }
  return found;
}

/** Notes in one transaction that the queue has items. */
export function markQueued(
  { change, kind }: Access<JobTables>,
  refs: readonly ItemRef[],
  now: number,
): Promise<void> {
  return change(async (trx) => {
    const items = (await lockOpen(trx, kind, refs)).filter(({ queued }) => queued === 0);
    if (items.length === 0) return;
    await trx.updateTable('job_items').set({ queued: 1 }).where(amongRefs(kind, items)).execute();
    for (const [id, of] of byJob(items)) await moveJob(trx, id, { unqueued: -of.length }, now);
  });
}

/**
 * Takes it that the queue has lost the items of each job that has not moved since `movedBefore`, so that it is given them again. Of a
 * tenant only the oldest open job is looked at: the others wait behind it, and rightly do not move.
 */
export async function forgetQueued(
  { run, change, kind }: Access<JobTables>,
  movedBefore: number,
  now: number,
): Promise<void> {
  const still = await run((db) =>
    db
      .selectFrom('jobs')
      .select('id')
      .where('finished_at', 'is', null)
      .where('moved_at', '<', movedBefore)
      .where('unqueued', '=', 0)
      .where(({ not, exists, selectFrom }) =>
        not(
          exists(
            selectFrom('jobs as older')
              .select('older.id')
              .whereRef('older.tenant_id', '=', 'jobs.tenant_id')
              .where('older.finished_at', 'is', null)
              .whereRef('older.id', '<', 'jobs.id'),
          ),
        ),
      )
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
