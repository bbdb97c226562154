import type { Access } from '../../database/access.js';
import { rowsAPiece } from '../../database/rows-a-piece.js';
import type { JobTables } from './tables.js';

/** Forgets a job: its items in one transaction after the other, and itself at last, so that what was left half done is found again. */
export async function removeJob({ run }: Access<JobTables>, job: string): Promise<void> {
  let deleted: number;
  do {
    deleted = await run(async (db) => {
      const { numDeletedRows } = await db
        .deleteFrom('job_items')
        .where('job_id', '=', job)
        .where('idx', 'in', (eb) =>
          eb.selectFrom('job_items').select('idx').where('job_id', '=', job).limit(rowsAPiece),
        )
        .executeTakeFirstOrThrow();
      return Number(numDeletedRows);
    });
  } while (deleted >= rowsAPiece);
  await run((db) => db.deleteFrom('jobs').where('id', '=', job).execute());
}
