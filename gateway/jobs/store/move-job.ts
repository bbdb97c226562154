import { sql, type Transaction } from 'kysely';
import type { Job } from '../model.js';
import { jobColumns } from './rows.js';
import type { JobRow, JobTables } from './tables.js';

/** What is added to a job's counts. */
export type Counts = Partial<
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
