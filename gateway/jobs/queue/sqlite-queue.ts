import { randomUUID } from 'node:crypto';
import { type RawBuilder, sql } from 'kysely';
import type { Access } from '../../database/access.js';
import { givenRows } from '../../database/given-rows.js';
import { rowsAPiece } from '../../database/rows-a-piece.js';
import { slices } from '../../database/slices.js';
import type { ItemRef } from '../model.js';
import { defaultLeaseMs, type JobQueue, type Lease } from './job-queue.js';

/** Items that wait or are leased, of all tenants. */
export type QueueTables = {
  job_queue: {
    /** The order in which they came. */
    place: number;
    tenant_id: string;
    job_id: string;
    idx: number;
    /** When it may be taken, in ms since 1970; of a leased one the lease's end. */
    due_at: number;
    /** Of the last lease, if any. */
    token: string | null;
  };
};

interface Row {
  job_id: string;
  idx: number;
  place: number;
}

/** Before anything that has a time. */
const atOnce = 0;
/** What is due later than this was put in before the clock was set back: nothing is put off for as long. */
const farMs = 600_000;

/**
 * A queue in the embedded database, for the processes of one host: they have one clock. A lease is a time before which nobody may take
 * the item, so that what a killed process held comes back by itself.
 */
export function createSqliteQueue(
  access: Access<QueueTables>,
  { leaseMs = defaultLeaseMs }: { leaseMs?: number } = {},
): JobQueue {
  function held(leases: readonly Lease[]): RawBuilder<unknown> {
    const rows = leases.map(({ job, index, token }) => [job, index, token]);
    return sql`(job_id, idx, token) in (select value ->> 0, value ->> 1, value ->> 2 from ${givenRows('sqlite', rows)})`;
  }

  return {
    leaseMs,

    async add(tenant, items) {
      for (const part of slices(items, rowsAPiece)) {
        const rows = part.map(({ job, index }) => [job, index]);
        const now = Date.now();
        await access.change((trx) =>
          sql`
            insert into job_queue (tenant_id, job_id, idx, due_at)
            select ${tenant}, value ->> 0, value ->> 1, ${now} from ${givenRows('sqlite', rows)} where true
            on conflict do nothing
          `.execute(trx),
        );
      }
    },

    async take(tenant, most) {
      if (most < 1) return [];
      const token = randomUUID();
      const now = Date.now();
      const taken = await access.change((trx) =>
        sql<Row>`
          update job_queue set token = ${token}, due_at = ${now + leaseMs}
          where place in (
            select place from job_queue where tenant_id = ${tenant} and due_at <= ${now}
            order by due_at, place limit ${most}
          )
          returning job_id, idx, place
        `.execute(trx),
      );
      // An update tells its rows in no order.
      return taken.rows
        .sort((a, b) => a.place - b.place)
        .map(({ job_id, idx }) => ({ tenant, job: job_id, index: idx, token }));
    },

    async extend(leases) {
      if (leases.length === 0) return [];
      const until = Date.now() + leaseMs;
      const extended = await access.change((trx) =>
        sql<Row>`update job_queue set due_at = ${until} where ${held(leases)} returning job_id, idx`.execute(
          trx,
        ),
      );
      const kept = new Set(extended.rows.map(({ job_id, idx }) => nameOf({ job: job_id, index: idx })));
      return leases.filter((lease) => !kept.has(nameOf(lease)));
    },

    async done(leases) {
      if (leases.length === 0) return;
      await access.change((trx) => sql`delete from job_queue where ${held(leases)}`.execute(trx));
    },

    async release(leases, delayMs = 0) {
      if (leases.length === 0) return;
      const dueAt = delayMs > 0 ? Date.now() + delayMs : atOnce;
      await access.change((trx) =>
        sql`update job_queue set token = null, due_at = ${dueAt} where ${held(leases)}`.execute(trx),
      );
    },

    // A lease that has run out is a time that has come, but where the clock was set back: it may not come for days.
    async recover(tenant) {
      const now = Date.now();
      await access.change((trx) =>
        trx
          .updateTable('job_queue')
          .set({ token: null, due_at: now })
          .where('tenant_id', '=', tenant)
          .where('due_at', '>', now + farMs)
          .execute(),
      );
    },
    async close() {},
  };
}

function nameOf({ job, index }: ItemRef): string {
  return `${job}:${index}`;
}
