import { sql } from 'kysely';
import type { Access } from '../../database/database.js';
import { type ItemRef, itemName } from '../model.js';
import {
  amongRefs,
  byJob,
  idsOf,
  inSlices,
  isHandedOut,
  type JobTables,
  lockOpen,
  lockOpenOf,
  moveJob,
  refColumns,
} from './tables.js';

interface HandOver {
  /** Items that are handed to the queue at a time. */
  most: number;
  /** Items of a tenant that may wait in the queue. A tenant is given half as many at a time, the one with the fewest waiting first. */
  ahead: number;
  /** Milliseconds after which a job that has not moved is given again. */
  idleMs: number;
}

/** What is still to be handed to the queue. */
export function createOutbox({ run, change, kind }: Access<JobTables>, now: () => number) {
  /** Tenants with items for the queue of which fewer than so many wait there. */
  function readHungry(fewer: number, most: number): Promise<string[]> {
    const waiting = sql<number>`sum(total - done - failed - cancelled - running - unqueued)`;
    return run((db) =>
      idsOf(
        db
          .selectFrom('jobs')
          .select('tenant_id as id')
          .where('finished_at', 'is', null)
          .where(isHandedOut)
          .groupBy('tenant_id')
          .having(sql`sum(unqueued)`, '>', 0)
          .having(waiting, '<', fewer)
          .orderBy(waiting)
          .orderBy('tenant_id')
          .limit(most),
      ),
    );
  }

  async function readOldest(tenant: string, most: number): Promise<ItemRef[]> {
    const jobs = await run((db) =>
      idsOf(
        db
          .selectFrom('jobs')
          .select('id')
          .where((eb) => eb.and({ tenant_id: tenant, finished_at: null }))
          .where('unqueued', '>', 0)
          .where(isHandedOut)
          .orderBy('id')
          .limit(most),
      ),
    );
    const items: ItemRef[] = [];
    for (const job of jobs) {
      if (items.length >= most) break;
      const found = await run((db) =>
        db
          .selectFrom('job_items')
          .select(refColumns)
          .where((eb) => eb.and({ job_id: job, ended: null, queued: 0 }))
          .orderBy('idx')
          .limit(most - items.length)
          .execute(),
      );
      items.push(...found);
    }
    return items;
  }

  /** Hands over again a tenant's oldest queued job if it has not moved for long: the others wait behind it. */
  async function forgetQueued(idleMs: number): Promise<void> {
    const isQueued = sql<boolean>`total - done - failed - cancelled > unqueued`;
    const still = await run((db) =>
      idsOf(
        db
          .with('queued', (of) =>
            of
              .selectFrom('jobs')
              .select(['tenant_id', sql<string>`min(id)`.as('oldest')])
              .where('finished_at', 'is', null)
              .where(isQueued)
              .where(isHandedOut)
              .groupBy('tenant_id'),
          )
          .selectFrom('queued')
          .innerJoin('jobs', 'jobs.id', 'queued.oldest')
          .select('jobs.id')
          .where('jobs.moved_at', '<', now() - idleMs),
      ),
    );
    for (const id of still) {
      await change(async (trx) => {
        await lockOpenOf(trx, kind, id);
        const { numUpdatedRows } = await trx
          .updateTable('job_items')
          .set({ queued: 0 })
          .where((eb) => eb.and({ job_id: id, ended: null, queued: 1 }))
          .executeTakeFirstOrThrow();
        await moveJob(trx, id, { unqueued: Number(numUpdatedRows) }, now());
      });
    }
  }

  return {
    /** Items that are new, or of a job that has not moved, the oldest first; again until `queued` names them. */
    async unqueued({ most, ahead, idleMs }: HandOver) {
      await forgetQueued(idleMs);
      const half = Math.ceil(ahead / 2);
      const found: { tenant: string; items: ItemRef[] }[] = [];
      let left = most;
      for (const tenant of await readHungry(half, most)) {
        const items = await readOldest(tenant, Math.min(half, left));
        if (items.length > 0) found.push({ tenant, items });
        left -= items.length;
        if (left <= 0) break;
      }
      return found;
    },

    /** Notes that the queue has items; returns those that have ended meanwhile. */
    queued: (items: readonly ItemRef[]): Promise<ItemRef[]> =>
      inSlices(items, (slice) =>
        change(async (trx) => {
          const open = await lockOpen(trx, kind, slice);
          const added = open.filter(({ queued }) => queued === 0);
          if (added.length > 0) {
            await trx.updateTable('job_items').set({ queued: 1 }).where(amongRefs(kind, added)).execute();
            for (const [id, of] of byJob(added)) await moveJob(trx, id, { unqueued: -of.length }, now());
          }
          const names = new Set(open.map(itemName));
          return slice.filter((item) => !names.has(itemName(item)));
        }),
      ),

    /** Items of a job that were cancelled while they waited in the queue. */
    cancelled: (job: string): Promise<ItemRef[]> =>
      run((db) =>
        db
          .selectFrom('job_items')
          .select(refColumns)
          .where((eb) => eb.and({ job_id: job, state: 'cancelled', queued: 1 }))
          .execute(),
      ),
  };
}
