import type { Transaction } from 'kysely';
import type { Access } from '../database/access.js';
import type { QuotaTable, UsageTables } from '../usage/tables.js';

// Rows of 3 values each: far below the parameters that SQLite takes.
const ROWS_A_STATEMENT = 1000;

/** Calls that a tenant has been charged for in a month, by all gateways together. */
export async function readQuotaUse(
  { run }: Access<UsageTables>,
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
  return Number(row?.used ?? 0);
}

/** Adds to what is there and returns the new sums, other gateways' calls included. */
export async function addQuotaUse(trx: Transaction<UsageTables>, rows: QuotaTable[]): Promise<QuotaTable[]> {
  const sums: QuotaTable[] = [];
  for (let start = 0; start < rows.length; start += ROWS_A_STATEMENT) {
    const found = await trx
      .insertInto('quota_use')
      .values(rows.slice(start, start + ROWS_A_STATEMENT))
      .onConflict((conflict) =>
        conflict
          .columns(['tenant', 'month'])
          .doUpdateSet((eb) => ({ used: eb('quota_use.used', '+', eb.ref('excluded.used')) })),
      )
      .returning(['tenant', 'month', 'used'])
      .execute();
    for (const row of found) sums.push({ ...row, used: Number(row.used) });
  }
  return sums;
}
