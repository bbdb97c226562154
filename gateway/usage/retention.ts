import type { Prune } from '../database/prune-daily.js';
import { dayMs, dayOf } from './day.js';
import type { UsageTables } from './tables.js';

/** Deletes figures of days before the last `days` days, today included. */
export function pruneUsage(days: number): Prune {
  return async function pruneUsage(trx, now, most) {
    const { numDeletedRows } = await trx
      .withTables<UsageTables>()
      .deleteFrom('usage_daily')
      .where(({ eb, refTuple, selectFrom }) =>
        eb(
          refTuple('tenant', 'day', 'key_id', 'service'),
          'in',
          selectFrom('usage_daily')
            .select(['tenant', 'day', 'key_id', 'service'])
            .where('day', '<=', dayOf(now - days * dayMs))
            .limit(most)
            .$asTuple('tenant', 'day', 'key_id', 'service'),
        ),
      )
      .executeTakeFirstOrThrow();
    return Number(numDeletedRows);
  };
}
