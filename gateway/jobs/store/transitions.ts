import { sql, type Transaction } from 'kysely';
import type { Access, DatabaseKind } from '../../database/database.js';
import { givenRows } from '../../database/rows.js';
import { randomBase62 } from '../../keys/key-format.js';
import { createTally, type UsageRecord } from '../../usage/meter.js';
import { addUsageRows, compareUsageRows, type UsageTables } from '../../usage/store.js';
import { type ItemEnd, type ItemRef, type Job, jobState } from '../model.js';
import { addDelivery, type DeliveryRow, type DeliveryTables } from '../webhooks/delivery-store.js';
import { addResultBytes } from './capacity.js';
import type { EndedItem, Finished, StartedItem } from './job-store.js';
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

/** An open item, locked, that comes to its end. */
interface Ending extends OpenItem {
  end: ItemEnd;
  usage?: UsageRecord | undefined;
}

/** Ends items that `lockOpen` gave, with all that follows from it. Gives the jobs that have ended by it. */
async function endItems(
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
  const rows = tally.rows().sort(compareUsageRows);
  if (rows.length > 0) await addUsageRows(trx.withTables<UsageTables>(), kind, rows);
  for (const job of ended) await addEndDelivery(trx, job, now);
  for (const [tenant, bytes] of [...results].sort()) await addResultBytes(trx, tenant, bytes);
  return ended;
}

/** Has the webhook of a job that has just ended told of it, where it has one. */
async function addEndDelivery(trx: Transaction<JobTables>, job: Job, now: number): Promise<void> {
  const notice = endMessage(job, now);
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

/** Cancels what waits of a job, in one transaction, and notes that it was called off: what comes back later is cancelled then. */
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
    await trx
      .updateTable('jobs')
      .set({ cancelled_at: sql`coalesce(cancelled_at, ${now})` })
      .where('id', '=', id)
      .where('finished_at', 'is', null)
      .execute();
    const moved = await moveJob(trx, id, { cancelled, unqueued: -unqueued }, now);
    if (moved && cancelled > 0 && moved.finished_at !== null) await addEndDelivery(trx, moved, now);
    return moved;
  });
}

/** How many it were. */
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

/** What a job's webhook is told of its end, as Standard Webhooks has it; undefined where there is none to tell. */
function endMessage(job: Job, now: number): Omit<DeliveryRow, 'due_at' | 'attempts'> | undefined {
  const { id, tenant_id, webhook_url, service, total, done, failed, cancelled } = job;
  if (webhook_url === null) return undefined;
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
  return { id: `msg_${randomBase62(22)}`, tenant_id, url: webhook_url, payload, created_at: now };
}
