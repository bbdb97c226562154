import { sql, type Transaction } from 'kysely';
import type { DatabaseKind } from '../../database/access.js';
import { givenRows } from '../../database/given-rows.js';
import { addRows, compareRows } from '../../usage/add-rows.js';
import type { UsageTables } from '../../usage/tables.js';
import { createTally, type UsageRecord } from '../../usage/tally.js';
import type { ItemEnd, Job } from '../model.js';
import { addDelivery } from '../webhooks/add-delivery.js';
import type { DeliveryTables } from '../webhooks/tables.js';
import { endNotice } from './end-notice.js';
import { moveJob } from './move-job.js';
import { byJob, type OpenItem } from './open-items.js';
import { addResultBytes } from './room.js';
import { endedText } from './rows.js';
import type { JobTables } from './tables.js';

/** An open item, locked, that comes to its end. */
export interface Ending extends OpenItem {
  end: ItemEnd;
  usage?: UsageRecord | undefined;
}

/** Ends items that `lockOpen` gave, with all that follows from it. Gives the jobs that have ended by it. */
export async function endItems(
  trx: Transaction<JobTables>,
  kind: DatabaseKind,
  items: readonly Ending[],
  now: number,
): Promise<Job[]> {
  await writeEnds(trx, kind, items);
  const ended: Job[] = [];
  const results = new Map<string, number>();
  for (const [id, of] of byJob(items)) {
    const job = await moveJob(trx, id, countsOf(of), now);
    if (job && job.finished_at !== null) ended.push(job);
    const bytes = resultBytes(of);
    if (job && bytes > 0) results.set(job.tenant_id, (results.get(job.tenant_id) ?? 0) + bytes);
  }
  const tally = createTally();
  for (const { usage } of items) if (usage) tally.add(usage);
  const rows = tally.rows().sort(compareRows);
  if (rows.length > 0) await addRows(trx.withTables<UsageTables>(), kind, rows);
  for (const job of ended) await tellEnd(trx, job, now);
  for (const [tenant, bytes] of [...results].sort()) await addResultBytes(trx, tenant, bytes);
  return ended;
}

/** Has the webhook of a job that has just ended told of it, where it has one. */
export async function tellEnd(trx: Transaction<JobTables>, job: Job, now: number): Promise<void> {
  const notice = endNotice(job, now);
  if (notice) await addDelivery(trx.withTables<DeliveryTables>(), notice);
}

function countsOf(items: readonly Ending[]) {
  const count = (is: (item: Ending) => boolean) => items.filter(is).length;
  return {
    unqueued: -count(({ queued }) => queued === 0),
    running: -count(({ state }) => state === 'running'),
    done: count(({ end }) => end.state === 'done'),
    failed: count(({ end }) => end.state === 'failed'),
    cancelled: count(({ end }) => end.state === 'cancelled'),
    result_bytes: resultBytes(items),
  };
}

/** Bytes that are kept of the items: results, and errors, which can be longer than what was given. */
function resultBytes(items: readonly Ending[]): number {
  const bytesOf = ({ end }: Ending) => {
    if (end.state === 'done') return end.result.bytes;
    return end.state === 'failed' ? Buffer.byteLength(endedText(end)) : 0;
  };
  return items.reduce((sum, item) => sum + bytesOf(item), 0);
}

/** What an item was given is of no use behind its end: it goes with the same write. */
async function writeEnds(
  trx: Transaction<JobTables>,
  kind: DatabaseKind,
  items: readonly Ending[],
): Promise<void> {
  const given = givenRows(
    kind,
    items.map(({ job_id, idx, end }) => [
      ...[job_id, idx, end.state, endedText(end)],
      end.state === 'done' ? (end.text ?? null) : null,
    ]),
  );
  await sql`
    update job_items set state = given.value ->> 2, ended = given.value ->> 3,
      text = given.value ->> 4, input = '' from ${given}
    where job_items.job_id = given.value ->> 0 and job_items.idx = cast(given.value ->> 1 as integer)
  `.execute(trx);
}
