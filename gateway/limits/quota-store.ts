import type { Transaction } from 'kysely';
import type { Access } from '../database/access.js';
import type { Prune } from '../database/prune-daily.js';
import type { QuotaRow, QuotaTables } from './tables.js';

/** Rows of 3 values each: far below the parameters that SQLite takes. */
const rowsAStatement = 1000;
const dayMs = 86_400_000;
/** The current month's sums are needed whatever else is deleted; two months cover every time zone's idea of it. */
const fewestDays = 62;

/** Calls that a tenant has been charged for in a month, by all gateways together. */
export async function readQuotaUse(
  { run }: Access<QuotaTables>,
  tenant: string,
  month: string,
): Promise<number> {
  const row = await run((db) =>
    db
      .selectFrom('quota_use')
      .select('used')
      .where('tenant', '=', tenant)
      .where('month', '=', month)
      .executeTakeFirst(),
  );
  return row?.used ?? 0;
}

/** Adds to what is there and returns the new sums, other gateways' calls included. */
export async function addQuotaUse(trx: Transaction<QuotaTables>, rows: QuotaRow[]): Promise<QuotaRow[]> {
  const sums: QuotaRow[] = [];
  for (let start = 0; start < rows.length; start += rowsAStatement) {
    const found = await trx
      .insertInto('quota_use')
      .values(rows.slice(start, start + rowsAStatement))
      .onConflict((conflict) =>
        conflict
          .columns(['tenant', 'month'])
          .doUpdateSet((eb) => ({ used: eb('quota_use.used', '+', eb.ref('excluded.used')) })),
      )
      .returning(['tenant', 'month', 'used'])
      .execute();
    sums.push(...found);
  }
  return sums;
}

/** Deletes the sums of months that ended more than `days` days ago. */
export function pruneQuotas(days: number): Prune {
  return async function pruneQuotas(trx, now) {
    const oldest = new Date(now - Math.max(days, fewestDays) * dayMs).toISOString().slice(0, 7);
    await trx.withTables<QuotaTables>().deleteFrom('quota_use').where('month', '<', oldest).execute();
  };
}
