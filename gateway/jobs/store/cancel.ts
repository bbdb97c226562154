import { sql, type Transaction } from 'kysely';
import type { Access } from '../../database/access.js';
import type { Job } from '../model.js';
import { tellEnd } from './end-items.js';
import { moveJob } from './move-job.js';
import { lockOpenOf } from './open-items.js';
import { endedText, jobColumns } from './rows.js';
import type { JobTables } from './tables.js';

/** Cancels what waits of a job, in one transaction, and notes that it was called off: what comes back later is cancelled then. */
export function cancelJob(
  { change, kind }: Access<JobTables>,
  { tenant, id }: { tenant: string; id: string },
  now: number,
): Promise<Job | undefined> {
  return change(async (trx) => {
    const job = await trx
      .selectFrom('jobs')
      .select(jobColumns)
      .where('id', '=', id)
      .where('tenant_id', '=', tenant)
      .executeTakeFirst();
    if (!job || job.finished_at !== null || job.cancelled_at !== null) return job;
    await lockOpenOf(trx, kind, id);
    const [unqueued, queued] = [await cancelWaiting(trx, id, 0), await cancelWaiting(trx, id, 1)];
    const cancelled = unqueued + queued;
    // Before the counts: the state of a job that ends by them follows from it.
    await trx
      .updateTable('jobs')
      .set({ cancelled_at: sql`coalesce(cancelled_at, ${now})` })
      .where('id', '=', id)
      .where('finished_at', 'is', null)
      .execute();
    const moved = await moveJob(trx, id, { cancelled, unqueued: -unqueued }, now);
    if (moved && cancelled > 0 && moved.finished_at !== null) await tellEnd(trx, moved, now);
    return moved;
  });
}

/** How many it were. */
async function cancelWaiting(trx: Transaction<JobTables>, job: string, queued: 0 | 1): Promise<number> {
  const { numUpdatedRows } = await trx
    .updateTable('job_items')
    .set({ state: 'cancelled', ended: endedText({ state: 'cancelled' }), input: '' })
    .where('job_id', '=', job)
    .where('ended', 'is', null)
    .where('state', '=', 'waiting')
    .where('queued', '=', queued)
    .executeTakeFirstOrThrow();
  return Number(numUpdatedRows);
}
