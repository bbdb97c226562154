import { randomUUID } from 'node:crypto';
import { type RawBuilder, sql } from 'kysely';
import type { Access } from '../../database/database.js';
import { givenRows, rowsPerTransaction, slices } from '../../database/rows.js';
import { type ItemRef, itemName } from '../model.js';
import { defaultLeaseMs, type JobQueue, type Lease } from './job-queue.js';

/** Items that wait or are leased, of all tenants. */
export type QueueTables = {
  job_queue: {
    /** The order in which they came, which they keep. */
    place: number;
    tenant_id: string;
    job_id: string;
    idx: number;
    /** It may be leased from then on, in ms since 1970. Of a leased item it is only a number that changes with each extension. */
    due_at: number;
    /** Of its lease; null while it waits. */
    token: string | null;
  };
};

type Row = ItemRef & { place: number };

/** An item that may not be leased, as a look has found it. */
type Held = Pick<QueueTables['job_queue'], 'place' | 'due_at' | 'token'>;

/** No item is released for longer. */
const longestDelayMs = 600_000;

/** In the embedded database. A lease ends when nothing has changed it for its time, and not by the wall clock. */
export function createSqliteQueue(
  access: Access<QueueTables>,
  { leaseMs = defaultLeaseMs }: { leaseMs?: number } = {},
): JobQueue {
  /** Items of each tenant that could not be leased at the last look, with the time by this process's own clock when they may be. */
  const seen = new Map<string, { at: number; held: Map<number, Held & { freeAt: number }> }>();

  const change = <T>(statement: RawBuilder<T>) => access.change((trx) => statement.execute(trx));

  async function inSlices(
    items: readonly ItemRef[],
    statement: (given: RawBuilder<unknown>) => RawBuilder<unknown>,
  ) {
    for (const part of slices(items, rowsPerTransaction)) {
      const rows = part.map(({ job, index }) => [job, index]);
      await change(statement(givenRows('sqlite', rows)));
    }
  }

  function held(leases: readonly Lease[]): RawBuilder<unknown> {
    const rows = leases.map(({ job, index, token }) => [job, index, token]);
    return sql`(job_id, idx, token) in (select value ->> 0, value ->> 1, value ->> 2 from ${givenRows('sqlite', rows)})`;
  }

  /** Notes what a tenant's held items are; returns those that have been the same for long enough. */
  function look(tenant: string, rows: readonly Held[], wall: number): Held[] {
    const now = performance.now();
    const before = seen.get(tenant)?.held;
    const held = new Map<number, Held & { freeAt: number }>();
    for (const row of rows) {
      const same = before?.get(row.place);
      const waitMs = row.token === null ? Math.min(row.due_at - wall, longestDelayMs) : leaseMs;
      const isSame = same?.token === row.token && same.due_at === row.due_at;
      held.set(row.place, isSame ? same : { ...row, freeAt: now + waitMs });
    }
    // Behind all others: what is in front has not been looked at for long, since its tenant has nothing open.
    seen.delete(tenant);
    if (held.size > 0) seen.set(tenant, { at: now, held });
    for (const [other, { at }] of seen) {
      if (at > now - longestDelayMs) break;
      seen.delete(other);
    }
    return [...held.values()].filter(({ freeAt }) => freeAt <= now);
  }

  return {
    leaseMs,

    add: (tenant, items) =>
      inSlices(
        items,
        (given) => sql`
          insert into job_queue (tenant_id, job_id, idx, due_at)
          select ${tenant}, value ->> 0, value ->> 1, 0 from ${given} where true
          on conflict do nothing
        `,
      ),

    async lease(tenant, most) {
      if (most < 1) return [];
      const token = randomUUID();
      const now = Date.now();
      const { rows } = await change(sql<Row>`
        update job_queue set token = ${token}, due_at = ${now + leaseMs}
        where place in (
          select place from job_queue where tenant_id = ${tenant} and token is null and due_at <= ${now}
          order by place limit ${most}
        )
        returning job_id as job, idx as "index", place
      `);
      // An update returns its rows in no order.
      rows.sort((a, b) => a.place - b.place);
      return rows.map(({ job, index }) => ({ tenant, job, index, token }));
    },

    async extend(leases) {
      if (leases.length === 0) return [];
      const until = Date.now() + leaseMs;
      const { rows } = await change(sql<ItemRef>`
        update job_queue set due_at = max(due_at + 1, ${until}) where ${held(leases)}
        returning job_id as job, idx as "index"
      `);
      const prolonged = new Set(rows.map(itemName));
      return leases.filter((lease) => !prolonged.has(itemName(lease)));
    },

    async done(leases) {
      if (leases.length > 0) await change(sql`delete from job_queue where ${held(leases)}`);
    },

    async release(leases, delayMs = 0) {
      if (leases.length === 0) return;
      const dueAt = delayMs > 0 ? Date.now() + Math.min(delayMs, longestDelayMs) : 0;
      await change(sql`update job_queue set token = null, due_at = ${dueAt} where ${held(leases)}`);
    },

    remove: (tenant, items) =>
      inSlices(
        items,
        (given) => sql`
          delete from job_queue where tenant_id = ${tenant} and token is null
            and (job_id, idx) in (select value ->> 0, value ->> 1 from ${given})
        `,
      ),

    async recover(tenant) {
      const wall = Date.now();
      const rows = await access.run((db) =>
        db
          .selectFrom('job_queue')
          .select(['place', 'due_at', 'token'])
          .where('tenant_id', '=', tenant)
          .where(({ eb, or }) => or([eb('token', 'is not', null), eb('due_at', '>', wall)]))
          .execute(),
      );
      const free = look(tenant, rows, wall).map(({ place, due_at, token }) => [place, due_at, token ?? '']);
      if (free.length === 0) return;
      await change(sql`
        update job_queue set token = null, due_at = 0 where (place, due_at, coalesce(token, '')) in
          (select value ->> 0, value ->> 1, value ->> 2 from ${givenRows('sqlite', free)})
      `);
    },

    async close() {},
  };
}
