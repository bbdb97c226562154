import type { Prune } from '../database/prune-daily.js';
import { dayMs, dayOf } from './day.js';
import type { UsageTables } from './tables.js';

/** Deletes figures of days before the last `days` days, today included. */
export function pruneUsage(days: number): Prune {
  return async function pruneUsage(trx, now) {
    await trx
      .withTables<UsageTables>()
      .deleteFrom('usage_daily')
      .where('day', '<=', dayOf(now - days * dayMs))
      .execute();
  };
}
