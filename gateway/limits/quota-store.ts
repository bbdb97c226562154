import { sql, type Transaction } from 'kysely';
import type { Access, DatabaseKind } from '../database/access.js';
import { givenRows } from '../database/given-rows.js';
import type { Prune } from '../database/prune-daily.js';
import type { QuotaRow, QuotaTables } from './tables.js';

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
export async function addQuotaUse(
  trx: Transaction<QuotaTables>,
  kind: DatabaseKind,
  rows: QuotaRow[],
): Promise<QuotaRow[]> {
  const given = givenRows(
    kind,
    rows.map(({ tenant, month, used }) => [tenant, month, used]),
  );
  // `where true` tells SQLite that what follows is no join's condition.
  const { rows: sums } = await sql<QuotaRow>`
    insert into quota_use (tenant, month, used)
    select value ->> 0, value ->> 1, cast(value ->> 2 as bigint) from ${given} where true
    on conflict (tenant, month) do update set used = quota_use.used + excluded.used
    returning tenant, month, used
  `.execute(trx);
  return sums;
}

/** Deletes the sums of months that ended more than `days` days ago. */
export function pruneQuotas(days: number): Prune {
  return async function pruneQuotas(trx, now, most) {
    const oldest = new Date(now - Math.max(days, fewestDays) * dayMs).toISOString().slice(0, 7);
    const { numDeletedRows } = await trx
      .withTables<QuotaTables>()
      .deleteFrom('quota_use')
      .where(({ eb, refTuple, selectFrom }) =>
        eb(
          refTuple('tenant', 'month'),
          'in',
          selectFrom('quota_use')
            .select(['tenant', 'month'])
            .where('month', '<', oldest)
            .limit(most)
            .$asTuple('tenant', 'month'),
        ),
      )
      .executeTakeFirstOrThrow();
    return Number(numDeletedRows);
  };
}
