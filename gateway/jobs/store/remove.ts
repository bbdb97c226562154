import type { Access } from '../../database/access.js';
import { rowsAPiece } from '../../database/rows-a-piece.js';
import { addResultBytes } from './room.js';
import type { JobTables } from './tables.js';

/** Forgets a job: its items in one transaction after the other, and itself at last, so that what was left half done is found again. */
export async function removeJob({ run, change }: Access<JobTables>, job: string): Promise<void> {
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
