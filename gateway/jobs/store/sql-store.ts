import type { Access } from '../../database/access.js';
import { rowsAPiece } from '../../database/rows-a-piece.js';
import { slices } from '../../database/slices.js';
import { handBackItems, startItems } from './begin-items.js';
import { cancelJob } from './cancel.js';
import { createJob, findMade } from './create.js';
import { finishItems } from './finish.js';
import type { JobStore } from './job-store.js';
import { readOpen } from './open-items.js';
import { forgetQueued, markQueued, readCancelled, readUnqueued } from './outbox.js';
import { createReads } from './reads.js';
import { removeJob } from './remove.js';
import type { JobTables } from './tables.js';

/** Jobs in the gateway's database. Many items are worked on in one transaction after the other, so that nobody waits long for one. */
export function createJobStore(
  access: Access<JobTables>,
  { now = Date.now }: { now?: () => number } = {},
): JobStore {
  /** Each slice is a transaction. */
  async function inSlices<T, R>(items: readonly T[], work: (slice: T[]) => Promise<R[]>): Promise<R[]> {
    const results: R[] = [];
    for (const slice of slices(items, rowsAPiece)) results.push(...(await work(slice)));
    return results;
  }

  return {
    ...createReads(access),
    create: (job, inputs, most) => createJob(access, job, inputs, { now: now(), most }),
    made: (tenant_id, idempotency, endedAfter) =>
      access.run((db) => findMade(db, { tenant_id, idempotency }, endedAfter)),
    cancel: (tenant, id) => cancelJob(access, { tenant, id }, now()),
    async unqueued({ idleMs, ...handOver }) {
      await forgetQueued(access, now() - idleMs, now());
      return readUnqueued(access, handOver);
    },
    queued: (items) => inSlices(items, (slice) => markQueued(access, slice, now())),
    cancelled: (job) => readCancelled(access, job),
    open: (items) => inSlices(items, (slice) => readOpen(access, slice)),
    start: (items) => inSlices(items, (slice) => startItems(access, slice, now())),
    async handBack(items, { counted } = { counted: false }) {
      for (const slice of slices(items, rowsAPiece)) {
        await handBackItems(access, slice, { counted, now: now() });
      }
    },
    async cleared(jobs) {
      if (jobs.length === 0) return;
      await access.run((db) =>
        db
          .updateTable('jobs')
          .set({ bytes: 0 })
          .where('id', 'in', jobs)
          .where('finished_at', 'is not', null)
          .execute(),
      );
    },
    async finish(items) {
      const ended = await inSlices(items, async (slice) => [await finishItems(access, slice, now())]);
      return { items: ended.flatMap((each) => each.items), jobs: ended.flatMap((each) => each.jobs) };
    },
    remove: (job) => removeJob(access, job),
  };
}
