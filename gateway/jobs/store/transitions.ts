import { sql, type Transaction } from 'kysely';
import type { Access } from '../../database/database.js';
import { givenRows } from '../../database/rows.js';
import { randomBase62 } from '../../keys/model.js';
import { createTally } from '../../usage/meter.js';
import { addUsageRows, compareUsageRows, type UsageRecord, type UsageTables } from '../../usage/store.js';
import { addDelivery, type DeliveryTables } from '../../webhooks/delivery-store.js';
import { type ItemEnd, type ItemInput, type ItemRef, itemName, type Job, jobState } from '../model.js';
import { addResultBytes } from './capacity.js';
import {
  amongRefs,
  byJob,
  endedText,
  type Fields,
  inputOf,
  inSlices,
  type JobRow,
  type JobTables,
  lockOpen,
  lockOpenOf,
  moveJob,
  type OpenItem,
  readJob,
  refColumns,
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

interface Finished {
  /** Those of the given items of which this is the end; the others had ended already. */
  items: EndedItem[];
  jobs: Job[];
}

/** An open item, locked, that comes to its end. */
type Ending = OpenItem & Pick<EndedItem, 'end' | 'usage'>;

/** What becomes of items: each transaction takes a slice of them, which another process may have taken further. */
export function createTransitions({ change, kind }: Access<JobTables>, now: () => number) {
  async function startSlice(refs: readonly ItemRef[]): Promise<StartedItem[]> {
    const { started, late } = await change(async (trx) => {
      const open = await lockOpen(trx, kind, refs);
      if (open.length === 0) return { started: [], late: [] };
      const ids = byJob(open).map(([id]) => id);
      const rows = await trx.selectFrom('jobs').selectAll().where('id', 'in', ids).execute();
      const jobs = new Map(rows.map((row) => [row.id, row]));
      // They came back after their job was cancelled.
      const isLate = ({ state, job }: OpenItem) =>
        state === 'waiting' && jobs.get(job)?.cancelled_at !== null;
      const items = open.filter((item) => !isLate(item));
      return { started: items.length > 0 ? await begin(trx, items, jobs) : [], late: open.filter(isLate) };
    });
    // In a transaction of its own, which again locks jobs in their order.
    if (late.length > 0) {
      await change(async (trx) => {
        const waiting = (await lockOpen(trx, kind, late)).filter(({ state }) => state === 'waiting');
        await endItems(
          trx,
          waiting.map((item) => ({ ...item, end: { state: 'cancelled' } })),
        );
      });
    }
    return started;
  }

  async function begin(
    trx: Transaction<JobTables>,
    items: readonly OpenItem[],
    jobs: ReadonlyMap<string, JobRow>,
  ): Promise<StartedItem[]> {
    const begun = await trx
      .updateTable('job_items')
      .set({ state: 'running', attempts: sql`attempts + 1` })
      .where(amongRefs(kind, items))
      .returning([...refColumns, 'attempts', 'input'])
      .execute();
    for (const [id, of] of byJob(items)) {
      const started = of.filter(({ attempts }) => attempts === 0).length;
      const running = of.filter(({ state }) => state === 'waiting').length;
      await moveJob(trx, id, { started, running }, now());
    }
    return byJob(begun).flatMap(([id, of]) => {
      const job = jobs.get(id);
      if (!job) return [];
      const { tenant_id, key_id, service, created_at, done } = job;
      const shared: Fields | undefined = job.fields === null ? undefined : JSON.parse(job.fields);
      return of
        .sort((a, b) => a.index - b.index)
        .map(({ index, input, attempts: attempt }) => ({
          ...{ job: id, index, of: { tenant_id, key_id, service } },
          ...{ input: inputOf(input, shared), attempt, created_at, done },
        }));
    });
  }

  function finishSlice(items: readonly EndedItem[]): Promise<Finished> {
    // The first end of an item is the one that it has.
    const ends = new Map(items.toReversed().map((item) => [itemName(item), item]));
    return change(async (trx) => {
      const left = new Map(ends);
      const endings: Ending[] = [];
      const ended: EndedItem[] = [];
      for (const item of await lockOpen(trx, kind, items)) {
        const its = left.get(itemName(item));
        if (!its) continue;
        left.delete(itemName(item));
        endings.push({ ...item, ...its });
        ended.push(its);
      }
      const tried = [...left.values()].filter(({ again }) => again);
      const written = await writtenBefore(trx, tried);
      return { items: [...ended, ...written], jobs: await endItems(trx, endings) };
    });
  }

  /** Those whose end is stored: a connection that was lost after the commit hid it from its writer. A result names its attempt. */
  async function writtenBefore(trx: Transaction<JobTables>, tried: readonly EndedItem[]) {
    if (tried.length === 0) return tried;
    const rows = await trx
      .selectFrom('job_items')
      .select([...refColumns, 'ended'])
      .where(amongRefs(kind, tried))
      .execute();
    const texts = new Map(rows.map((row) => [itemName(row), row.ended]));
    return tried.filter((item) => texts.get(itemName(item)) === endedText(item.end));
  }

  /** Ends items that `lockOpen` found, with all that follows from it. Returns the jobs that have ended by it. */
  async function endItems(trx: Transaction<JobTables>, items: readonly Ending[]): Promise<Job[]> {
    if (items.length === 0) return [];
    const time = now();
    const given = givenRows(
      kind,
      items.map(({ job, index, end }) => [
        ...[job, index, end.state, endedText(end)],
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
      const job = await moveJob(trx, id, counts, time);
      if (!job) continue;
      if (job.finished_at !== null) ended.push(job);
      results.set(job.tenant_id, (results.get(job.tenant_id) ?? 0) + counts.result_bytes);
    }
    const tally = createTally();
    for (const { usage } of items) if (usage) tally.add(usage);
    const rows = tally.rows().sort(compareUsageRows);
    if (rows.length > 0) await addUsageRows(trx.withTables<UsageTables>(), kind, rows);
    for (const job of ended) await addEndDelivery(trx, job, time);
    for (const [tenant, bytes] of [...results].sort())
      if (bytes > 0) await addResultBytes(trx, tenant, bytes);
    return ended;
  }

  return {
    /** Marks items as running and gives what is to be done; those that have ended, or whose job is gone, are left out. */
    start: (items: readonly ItemRef[]): Promise<StartedItem[]> => inSlices(items, startSlice),

    /**
     * Puts this process's running items back to waiting, as if not started, or with the attempt `counted`; `unqueued` ones are to be
     * handed to the queue again.
     */
    async handBack(
      items: readonly (ItemRef & Pick<StartedItem, 'attempt'>)[],
      { counted, unqueued = false }: { counted: boolean; unqueued?: boolean },
    ): Promise<void> {
      const attempts = new Map(items.map((item) => [itemName(item), item.attempt]));
      const isOurs = (item: OpenItem) =>
        item.state === 'running' && attempts.get(itemName(item)) === item.attempts;
      await inSlices(items, (slice) =>
        change(async (trx) => {
          const back = (await lockOpen(trx, kind, slice)).filter(isOurs);
          if (back.length === 0) return [];
          await trx
            .updateTable('job_items')
            .set({
              state: 'waiting',
              attempts: counted ? sql`attempts` : sql`attempts - 1`,
              ...(unqueued && { queued: 0 }),
            })
            .where(amongRefs(kind, back))
            .execute();
          for (const [id, of] of byJob(back)) {
            const undone = counted ? 0 : of.filter(({ attempts }) => attempts === 1).length;
            const taken = unqueued ? of.filter(({ queued }) => queued === 1).length : 0;
            await moveJob(trx, id, { started: -undone, running: -of.length, unqueued: taken }, now());
          }
          return [];
        }),
      );
    },

    /** Ends each item once, whichever process tries, with its counts, usage, job's end and webhook's delivery. */
    async finish(items: readonly EndedItem[]): Promise<Finished> {
      const ended = await inSlices(items, async (slice) => [await finishSlice(slice)]);
      return { items: ended.flatMap((each) => each.items), jobs: ended.flatMap((each) => each.jobs) };
    },

    /** Cancels what waits; what comes back later is cancelled then. Returns the tenant's job as it is then. */
    cancel: (tenant: string, id: string): Promise<Job | undefined> =>
      change(async (trx) => {
        const job = await readJob(trx, tenant, id);
        if (!job || job.finished_at !== null || job.cancelled_at !== null) return job;
        const time = now();
        await lockOpenOf(trx, kind, id);
        const [unqueued, queued] = [await cancelWaiting(trx, id, 0), await cancelWaiting(trx, id, 1)];
        const cancelled = unqueued + queued;
        // Before the counts: the state of a job that ends by them follows from it.
        await sql`
          update jobs set cancelled_at = cast(${time} as bigint) where id = ${id} and cancelled_at is null and finished_at is null
        `.execute(trx);
        const moved = await moveJob(trx, id, { cancelled, unqueued: -unqueued }, time);
        if (moved && cancelled > 0 && moved.finished_at !== null) await addEndDelivery(trx, moved, time);
        return moved;
      }),
  };
}

function countsOf(items: readonly Ending[]) {
  const count = (is: (item: Ending) => boolean) => items.filter(is).length;
  const ended = (state: ItemEnd['state']) => count(({ end }) => end.state === state);
  return {
    unqueued: -count(({ queued }) => queued === 0),
    running: -count(({ state }) => state === 'running'),
    ...{ done: ended('done'), failed: ended('failed'), cancelled: ended('cancelled') },
    result_bytes: items.reduce((sum, { end }) => sum + storedBytes(end), 0),
  };
}

/** Bytes that are stored of an end: a result, or an error, which can be longer than the input was. */
function storedBytes(end: ItemEnd): number {
  if (end.state === 'done') return end.result.bytes;
  return end.state === 'failed' ? Buffer.byteLength(endedText(end)) : 0;
}

async function cancelWaiting(trx: Transaction<JobTables>, job: string, queued: 0 | 1): Promise<number> {
  const { numUpdatedRows } = await trx
    .updateTable('job_items')
    .set({ state: 'cancelled', ended: endedText({ state: 'cancelled' }), input: '' })
    .where((eb) => eb.and({ job_id: job, ended: null, state: 'waiting', queued }))
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
