import type { Access } from '../database/access.js';
import type { UsageTables } from './tables.js';
import { DAY_MS, dayOf } from './tally.js';

// A process that tries one batch again for longer than this may count it twice.
const WRITER_DAYS = 30;
// The current month's quota is needed whatever the retention; two months cover every time zone's idea of it.
const QUOTA_DAYS = 62;

/** Deletes figures of days before the last `days` days, today included, and what else nobody will ask for. */
export async function pruneUsage({ change }: Access<UsageTables>, days: number, now: number): Promise<void> {
  await change(async (trx) => {
    await trx
      .deleteFrom('usage_daily')
      .where('day', '<=', dayOf(now - days * DAY_MS))
      .execute();
    await trx
      .deleteFrom('quota_use')
      .where('month', '<', dayOf(now - Math.max(days, QUOTA_DAYS) * DAY_MS).slice(0, 7))
      .execute();
    await trx
      .deleteFrom('usage_writers')
      .where('at', '<', now - WRITER_DAYS * DAY_MS)
      .execute();
  });
}
