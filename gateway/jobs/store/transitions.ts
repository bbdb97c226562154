import { sql, type Transaction } from 'kysely';
import type { Access, DatabaseKind } from '../../database/database.js';
import { givenRows } from '../../database/rows.js';
import { randomBase62 } from '../../keys/model.js';
import { createTally, type UsageRecord } from '../../usage/meter.js';
import { addUsageRows, compareUsageRows, type UsageTables } from '../../usage/store.js';
import { type ItemEnd, type ItemInput, type ItemRef, type Job, jobState } from '../model.js';
import { addDelivery, type DeliveryTables } from '../webhooks/delivery-store.js';
import { addResultBytes } from './capacity.js';
import {
  amongRefs,
  byJob,
  endedText,
  fieldsOf,
  inputOf,
  itemName,
  type JobRow,
  type JobTables,
  jobColumns,
  lockOpen,
  lockOpenOf,
  moveJob,
  type OpenItem,
  refOf,
} from './tables.js';

export interface StartedItem extends ItemRef {
  of: Pick<Job, 'tenant_id' | 'key_id' | 'service'>;
  input: ItemInput;
  /** How often it has been started and not handed back, with this time. */
  attempt: number;
  /** When its job was made, and how many of its items are done. */
  created_at: number;
  done: number;
}

/** An item's end, with the call that it was. */
export interface EndedItem extends ItemRef {
  end: ItemEnd;
  /** Absent where nothing was called. */
  usage?: UsageRecord;
  /** Set where it was to be written before and that failed, which may have been after all was written. */
  again?: boolean;
}

export interface Finished {
  /** Those of the given items of which this is the end; the others had ended already. */
  items: EndedItem[];
  jobs: Job[];
}

/** An open item, locked, that comes to its end. */
interface Ending extends OpenItem {
  end: ItemEnd;
  usage?: UsageRecord | undefined;
}

/** Marks items as running; gives them in the order of the table. */
export async function startItems(
  access: Access<JobTables>,
  refs: readonly ItemRef[],
  now: number,
): Promise<StartedItem[]> {
  const { change, kind } = access;
  const { started, late } = await change(async (trx) => {
    const open = await lockOpen(trx, kind, refs);
    if (open.length === 0) return { started: [], late: [] };
    const ids = byJob(open).map(([id]) => id);
    const rows = await trx.selectFrom('jobs').selectAll().where('id', 'in', ids).execute();
    const jobs = new Map(rows.map((row) => [row.id, row]));
    // They came back after their job was cancelled.
    const isLate = ({ state, job_id }: OpenItem) =>
      state === 'waiting' && jobs.get(job_id)?.cancelled_at !== null;
    const items = open.filter((item) => !isLate(item));
    return { started: await begin(trx, { kind, items, jobs, now }), late: open.filter(isLate) };
  });
  // In a transaction of its own, which again locks jobs in their order.
  if (late.length > 0) {
    await change(async (trx) => {
      const waiting = (await lockOpen(trx, kind, late.map(refOf))).filter(({ state }) => state === 'waiting');
      const ends = waiting.map((item) => ({ ...item, end: { state: 'cancelled' } as const }));
      if (ends.length > 0) await endItems(trx, kind, ends, now);
    });
  }
  return started;
}

async function begin(
  trx: Transaction<JobTables>,
  {
    kind,
    items,
    jobs,
    now,
  }: { kind: DatabaseKind; items: readonly OpenItem[]; jobs: ReadonlyMap<string, JobRow>; now: number },
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

/** Puts back those items that no other process has started since, in one transaction. */
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

/** Ends those of the items that have not ended, in one transaction. */
export function finishItems(
  { change, kind }: Access<JobTables>,
  items: readonly EndedItem[],
  now: number,
): Promise<Finished> {
  // The first end of an item is the one that it has.
  const ends = new Map(items.toReversed().map((item) => [itemName(item.job, item.index), item]));
  return change(async (trx) => {
    const left = new Map(ends);
    const endings: Ending[] = [];
    const ended: EndedItem[] = [];
    for (const item of await lockOpen(trx, kind, items)) {
      const name = itemName(item.job_id, item.idx);
      const its = left.get(name);
      if (!its) continue;
      left.delete(name);
      endings.push({ ...item, end: its.end, usage: its.usage });
      ended.push(its);
    }
    const tried = [...left.values()].filter(({ again }) => again);
    const written = await writtenBefore(trx, kind, tried);
    const jobs = endings.length > 0 ? await endItems(trx, kind, endings, now) : [];
    return { items: [...ended, ...written], jobs };
  });
}

/** Those whose end is stored: a connection that was lost after the commit hid it from its writer. A result names its attempt. */
async function writtenBefore(
  trx: Transaction<JobTables>,
  kind: DatabaseKind,
  tried: readonly EndedItem[],
): Promise<EndedItem[]> {
  if (tried.length === 0) return [];
  const refs = tried.map(({ job, index }) => ({ job_id: job, idx: index }));
  const rows = await trx
    .selectFrom('job_items')
    .select(['job_id', 'idx', 'ended'])
    .where(amongRefs(kind, refs))
    .execute();
  const texts = new Map(rows.map(({ job_id, idx, ended }) => [itemName(job_id, idx), ended]));
  return tried.filter(({ job, index, end }) => texts.get(itemName(job, index)) === endedText(end));
}

/** Ends items that `lockOpen` gave, with all that follows from it. Gives the jobs that have ended by it. */
async function endItems(
  trx: Transaction<JobTables>,
  kind: DatabaseKind,
  items: readonly Ending[],
  now: number,
): Promise<Job[]> {
  const given = givenRows(
    kind,
    items.map(({ job_id, idx, end }) => [
      ...[job_id, idx, end.state, endedText(end)],
      end.state === 'done' ? (end.text ?? null) : null,
    ]),
  );
  // An item's input is of no use behind its end: it goes with the same write.
  await sql`
    update job_items set state = given.value ->> 2, ended = given.value ->> 3,
      text = given.value ->> 4, input = '' from ${given}
    where job_items.job_id = given.value ->> 0 and job_items.idx = cast(given.value ->> 1 as integer)
  `.execute(trx);
  const ended: Job[] = [];
  const results = new Map<string, number>();
  for (const [id, of] of byJob(items)) {
    const counts = countsOf(of);
    const job = await moveJob(trx, id, counts, now);
    if (!job) continue;
    if (job.finished_at !== null) ended.push(job);
    results.set(job.tenant_id, (results.get(job.tenant_id) ?? 0) + counts.result_bytes);
  }
  const tally = createTally();
  for (const { usage } of items) if (usage) tally.add(usage);
  const rows = tally.rows().sort(compareUsageRows);
  if (rows.length > 0) await addUsageRows(trx.withTables<UsageTables>(), kind, rows);
  for (const job of ended) await addEndDelivery(trx, job, now);
  for (const [tenant, bytes] of [...results].sort()) if (bytes > 0) await addResultBytes(trx, tenant, bytes);
  return ended;
}

function countsOf(items: readonly Ending[]) {
  const count = (is: (item: Ending) => boolean) => items.filter(is).length;
  return {
    unqueued: -count(({ queued }) => queued === 0),
    running: -count(({ state }) => state === 'running'),
    done: count(({ end }) => end.state === 'done'),
    failed: count(({ end }) => end.state === 'failed'),
    cancelled: count(({ end }) => end.state === 'cancelled'),
    result_bytes: items.reduce((sum, { end }) => sum + storedBytes(end), 0),
  };
}

/** Bytes that are stored of an end: a result, or an error, which can be longer than the input was. */
function storedBytes(end: ItemEnd): number {
  if (end.state === 'done') return end.result.bytes;
  return end.state === 'failed' ? Buffer.byteLength(endedText(end)) : 0;
}

/** Cancels what waits of a job, in one transaction, and notes that it was cancelled: what comes back later is cancelled then. */
export function cancelJob(
  { change, kind }: Access<JobTables>,
  { tenant, id }: { tenant: string; id: string },
  now: number,
): Promise<Job | undefined> {
  return change(async (trx) => {
    const job = await trx
      .selectFrom('jobs')
      .select(jobColumns)
      .where('id', '=', id)
      .where('tenant_id', '=', tenant)
      .executeTakeFirst();
    if (!job || job.finished_at !== null || job.cancelled_at !== null) return job;
    await lockOpenOf(trx, kind, id);
    const [unqueued, queued] = [await cancelWaiting(trx, id, 0), await cancelWaiting(trx, id, 1)];
    const cancelled = unqueued + queued;
    // Before the counts: the state of a job that ends by them follows from it.
    await sql`
      update jobs set cancelled_at = coalesce(cancelled_at, cast(${now} as bigint))
      where id = ${id} and finished_at is null
    `.execute(trx);
    const moved = await moveJob(trx, id, { cancelled, unqueued: -unqueued }, now);
    if (moved && cancelled > 0 && moved.finished_at !== null) await addEndDelivery(trx, moved, now);
    return moved;
  });
}

async function cancelWaiting(trx: Transaction<JobTables>, job: string, queued: 0 | 1): Promise<number> {
  const { numUpdatedRows } = await trx
    .updateTable('job_items')
    .set({ state: 'cancelled', ended: endedText({ state: 'cancelled' }), input: '' })
    .where('job_id', '=', job)
    .where('ended', 'is', null)
    .where('state', '=', 'waiting')
    .where('queued', '=', queued)
    .executeTakeFirstOrThrow();
  return Number(numUpdatedRows);
}

/** Has the end of a job delivered to its webhook, where it has one, in the form of Standard Webhooks. */
async function addEndDelivery(trx: Transaction<JobTables>, job: Job, now: number): Promise<void> {
  const { id, tenant_id, webhook_url: url, service, total, done, failed, cancelled } = job;
  if (url === null) return;
  const state = jobState(job);
  const payload = JSON.stringify({
    type: `job.${state}`,
    timestamp: new Date(now).toISOString(),
    data: {
      ...{ id, service, state, total, done, failed, cancelled },
      created_at: new Date(job.created_at).toISOString(),
      finished_at: new Date(job.finished_at ?? now).toISOString(),
    },
  });
  const delivery = { id: `msg_${randomBase62(22)}`, tenant_id, url, payload, created_at: now };
  await addDelivery(trx.withTables<DeliveryTables>(), delivery);
}
