import { sql, type Transaction } from 'kysely';
import type { Access, DatabaseKind } from '../../database/access.js';
import type { ItemRef } from '../model.js';
import { endItems } from './end-items.js';
import type { StartedItem } from './job-store.js';
import { moveJob } from './move-job.js';
import { amongRefs, byJob, itemName, lockOpen, type OpenItem } from './open-items.js';
import { fieldsOf, inputOf, refOf } from './rows.js';
import type { JobRow, JobTables } from './tables.js';

/** Marks items as running; `StartedItem`s in the order of the table. */
export async function startItems(
  access: Access<JobTables>,
  refs: readonly ItemRef[],
  now: number,
): Promise<StartedItem[]> {
  const { change, kind } = access;
  const { started, late } = await change(async (trx) => {
    const open = await lockOpen(trx, kind, refs);
    if (open.length === 0) return { started: [], late: [] };
    const jobs = await readJobs(trx, open);
    const late = open.filter((item) => isLate(item, jobs));
    const items = open.filter((item) => !isLate(item, jobs));
    return { started: await begin(trx, { kind, items, jobs, now }), late };
  });
  if (late.length > 0) await cancelLate(access, late.map(refOf), now);
  return started;
}

/** It came back after its job was called off. */
function isLate({ state, job_id }: OpenItem, jobs: ReadonlyMap<string, JobRow>): boolean {
  return state === 'waiting' && jobs.get(job_id)?.cancelled_at !== null;
}

/** In a transaction of its own, which again takes jobs in their order. */
async function cancelLate(
  { change, kind }: Access<JobTables>,
  refs: readonly ItemRef[],
  now: number,
): Promise<void> {
  await change(async (trx) => {
    const late = (await lockOpen(trx, kind, refs)).filter(({ state }) => state === 'waiting');
    const ends = late.map((item) => ({ ...item, end: { state: 'cancelled' } as const }));
    if (ends.length > 0) await endItems(trx, kind, ends, now);
  });
}

async function readJobs(trx: Transaction<JobTables>, items: readonly OpenItem[]) {
  const ids = byJob(items).map(([id]) => id);
  const rows = await trx.selectFrom('jobs').selectAll().where('id', 'in', ids).execute();
  return new Map(rows.map((row) => [row.id, row]));
}

interface Beginning {
  kind: DatabaseKind;
  items: readonly OpenItem[];
  jobs: ReadonlyMap<string, JobRow>;
  now: number;
}

async function begin(
  trx: Transaction<JobTables>,
  { kind, items, jobs, now }: Beginning,
): Promise<StartedItem[]> {
  if (items.length === 0) return [];
  const begun = await trx
    .updateTable('job_items')
    .set({ state: 'running', attempts: sql`attempts + 1` })
    .where(amongRefs(kind, items))
    .returning(['job_id', 'idx', 'attempts', 'input'])
    .execute();
  for (const [id, of] of byJob(items)) {
    const started = of.filter(({ attempts }) => attempts === 0).length;
    const running = of.filter(({ state }) => state === 'waiting').length;
    await moveJob(trx, id, { started, running }, now);
  }
  return byJob(begun).flatMap(([id, of]) => {
    const job = jobs.get(id);
    if (!job) return [];
    const { tenant_id, key_id, service, created_at, done } = job;
    const shared = fieldsOf(job);
    return of
      .sort((a, b) => a.idx - b.idx)
      .map((row) => ({
        ...refOf(row),
        of: { tenant_id, key_id, service },
        input: inputOf(row.input, shared),
        attempt: row.attempts,
        created_at,
        done,
      }));
  });
}

/** Puts back those items that nobody has started since, in one transaction. */
export function handBackItems(
  { change, kind }: Access<JobTables>,
  started: readonly (ItemRef & { attempt: number })[],
  { counted, now }: { counted: boolean; now: number },
): Promise<void> {
  const attempts = new Map(started.map(({ job, index, attempt }) => [itemName(job, index), attempt]));
  return change(async (trx) => {
    const open = await lockOpen(trx, kind, started);
    const back = open.filter(
      (item) => item.state === 'running' && attempts.get(itemName(item.job_id, item.idx)) === item.attempts,
    );
    if (back.length === 0) return;
    await trx
      .updateTable('job_items')
      .set({ state: 'waiting', attempts: counted ? sql`attempts` : sql`attempts - 1` })
      .where(amongRefs(kind, back))
      .execute();
    for (const [id, of] of byJob(back)) {
      const undone = counted ? 0 : of.filter(({ attempts }) => attempts === 1).length;
      await moveJob(trx, id, { started: -undone, running: -of.length }, now);
    }
  });
}
