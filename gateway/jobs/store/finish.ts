import type { Access } from '../../database/access.js';
import type { Job } from '../model.js';
import { type Ending, endItems } from './end-items.js';
import type { EndedItem } from './job-store.js';
import { itemName, lockOpen } from './open-items.js';
import type { JobTables } from './tables.js';

/** Ends those of the items that have not ended, in one transaction. Gives the jobs that have ended by it. */
export function finishItems(
  { change, kind }: Access<JobTables>,
  items: readonly EndedItem[],
  now: number,
): Promise<Job[]> {
  // The first end of an item is the one that it has.
  const ends = new Map(items.toReversed().map((item) => [itemName(item.job, item.index), item]));
  return change(async (trx) => {
    const open = await lockOpen(trx, kind, items);
    const endings = open.flatMap((item): Ending[] => {
      const ended = ends.get(itemName(item.job_id, item.idx));
      return ended ? [{ ...item, end: ended.end, usage: ended.usage }] : [];
    });
    return endings.length > 0 ? endItems(trx, kind, endings, now) : [];
  });
}
