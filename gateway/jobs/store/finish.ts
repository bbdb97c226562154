import type { Transaction } from 'kysely';
import type { Access } from '../../database/access.js';
import { type Ending, endItems } from './end-items.js';
import type { EndedItem, Finished } from './job-store.js';
import { amongRefs, itemName, lockOpen } from './open-items.js';
import { endedText } from './rows.js';
import type { JobTables } from './tables.js';

/** Ends those of the items that have not ended, in one transaction. */
export function finishItems(
  { change, kind }: Access<JobTables>,
  items: readonly EndedItem[],
  now: number,
): Promise<Finished> {
  // The first end of an item is the one that it has.
  const ends = new Map(items.toReversed().map((item) => [itemName(item.job, item.index), item]));
  return change(async (trx) => {
    const open = await lockOpen(trx, kind, items);
    const endings: Ending[] = [];
    const ended: EndedItem[] = [];
    for (const item of open) {
      const name = itemName(item.job_id, item.idx);
      const its = ends.get(name);
      if (!its) continue;
      ends.delete(name);
      endings.push({ ...item, end: its.end, usage: its.usage });
      ended.push(its);
    }
    const written = await writtenBefore(
      trx,
      [...ends.values()].filter(({ again }) => again),
    );
    const jobs = endings.length > 0 ? await endItems(trx, kind, endings, now) : [];
    return { items: [...ended, ...written], jobs };
  });

  /** Those whose end stands there: a connection that was lost after the commit hid it from who wrote it. A result names its attempt. */
  async function writtenBefore(
    trx: Transaction<JobTables>,
    tried: readonly EndedItem[],
  ): Promise<EndedItem[]> {
    if (tried.length === 0) return [];
    const among = amongRefs(
      kind,
      tried.map(({ job, index }) => ({ job_id: job, idx: index })),
    );
    const rows = await trx.selectFrom('job_items').select(['job_id', 'idx', 'ended']).where(among).execute();
    const texts = new Map(rows.map(({ job_id, idx, ended }) => [itemName(job_id, idx), ended]));
    return tried.filter(({ job, index, end }) => texts.get(itemName(job, index)) === endedText(end));
  }
}
