import { performance } from 'node:perf_hooks';
import type { Logger } from 'pino';
import type { Pool } from '../../../pool/pool.js';
import { createBatcher } from '../../database/batcher.js';
import { groupBy } from '../../database/rows.js';
import { isStoreAway } from '../../database/store-error.js';
import type { Metrics } from '../../observability/metrics.js';
import type { UsageMeter } from '../../usage/meter.js';
import type { Job } from '../model.js';
import type { JobQueue, Lease } from '../queue/job-queue.js';
import type { ResultStore } from '../results/result-store.js';
import type { JobStore } from '../store/job-store.js';
import type { EndedItem, StartedItem } from '../store/transitions.js';
import { createItemCall, createItemLog, type ItemCall } from './item-call.js';
import { createItemPipelines, type ItemParts } from './item-stages.js';
import { createLeases, createPoller, type PollerParts } from './poller.js';
import type { Retry } from './retries.js';
import type { Share } from './tenant-shares.js';
import { createItemResults, createItemWork } from './work-item.js';

type RunnerParts = ItemParts &
  Omit<PollerParts, 'leases' | 'onItem'> & {
    store: Pick<JobStore, 'finish' | 'held'>;
    queue: Pick<JobQueue, 'extend' | 'leaseMs'>;
    results: Pick<ResultStore, 'put'>;
    mostResultBytes: number;
    pool: Pick<Pool, 'handBack'>;
    logger: Logger;
    observeItem?: Metrics['observeItem'] | undefined;
    recordRequest?: UsageMeter['recordRequest'];
    /** Called with jobs that have come to their end here. */
    onJobsEnded?: (ended: readonly Job[]) => void;
  };

export type Runner = ReturnType<typeof createRunner>;

/** Items that are ended, or handed back, in one transaction. */
const itemsPerGroup = 64;

/** How long a close waits for what is away: another process works again on what it could not write. */
const closeMs = 4_000;

/** Works on the items of jobs, of those tenants that are opened. */
export function createRunner(parts: RunnerParts) {
  const { store, queue, pool, retryPolicy, logger } = parts;
  const log = createItemLog(logger, parts.observeItem);
  const results = createItemResults({ ...parts, mostBytes: parts.mostResultBytes });
  const work = createItemWork({ ...parts, results, pipelineOf: createItemPipelines({ ...parts, results }) });
  const leases = createLeases(queue);
  const inHand = new Map<ItemCall, Promise<void>>();
  let closing = false;

  const poller = createPoller({
    ...parts,
    leases,
    onItem(item, lease, share) {
      const call = createItemCall(item, parts.tracing, () => poller.bringAhead(share));
      const began = performance.now();
      const waitMs = Math.max(0, Date.now() - item.created_at);
      const ended = see(call, lease, share, { began, waitMs })
        .catch((error) => {
          logger.error(
            { err: error, job: item.job, index: item.index },
            'the end of an item could not be written; it is worked on again when its lease has run out',
          );
        })
        .finally(() => {
          log.left(call);
          inHand.delete(call);
          leases.drop(lease);
          poller.ended();
        });
      inHand.set(call, ended);
    },
  });

  const finish = inGroups(async (all: readonly EndedItem[]) => {
    const { items, jobs } = await store.finish(all);
    for (const job of jobs) log.jobEnded(job);
    if (jobs.length > 0) parts.onJobsEnded?.(jobs);
    return all.map((ended) => items.includes(ended));
  });
  const done = inGroups<Lease, void>((all) => queue.done(all).then(() => []));
  const giveBack = inGroups<{ lease: Lease; item: StartedItem; retry: Retry }, void>(async (given) => {
    const held = given.filter(({ retry }) => retry.unqueued);
    const all = given.filter(({ retry }) => !retry.unqueued);
    if (held.length > 0) {
      await queue.done(held.map(({ lease }) => lease));
      await store.handBack(
        held.map(({ item }) => item),
        { counted: false, unqueued: true },
      );
    }
    for (const [counted, part] of groupBy(all, ({ retry }) => retry.counted)) {
      const items = part.map(({ item }) => item);
      await store.handBack(items, { counted });
    }
    for (const [delayMs, part] of groupBy(all, ({ retry }) => retry.delayMs)) {
      const leases = part.map(({ lease }) => lease);
      await queue.release(leases, delayMs);
    }
    return [];
  });

  /** Whether this is the item's end: another process may have ended it first. */
  function finishOne(ended: EndedItem): Promise<boolean> {
    return finish(ended).catch((error) => {
      ended.again = true;
      throw error;
    });
  }

  /** Sees an item to its end, or back into the queue. */
  async function see(
    call: ItemCall,
    lease: Lease,
    share: Share,
    { began, waitMs }: { began: number; waitMs: number },
  ): Promise<void> {
    const worked = await work(call);
    const { caller, bytesIn } = call.state;
    if (caller) poller.weigh(share.tenant, caller.tenant.weight);
    const bytesOut = ('ended' in worked && worked.ended.usage?.bytesOut) || 0;
    poller.worked(share, { spent: worked.spent, bytesIn, bytesOut });
    if ('again' in worked) {
      call.quota.settle?.(false);
      // At the end another has it at once, however long this one would have left it alone.
      const again = closing && !worked.again.counted ? { ...worked.again, delayMs: 0 } : worked.again;
      // What keeps this one from running keeps the tenant's next from it, too; but a paused key is one of several.
      if (!again.counted && call.state.code !== 'key_paused') poller.rest(share.tenant);
      log.again(call, again);
      await retryPolicy.run(() => giveBack({ lease, item: call.item, retry: again }));
      return;
    }
    let isItsEnd = false;
    try {
      isItsEnd = await retryPolicy.run(() => finishOne(worked.ended));
    } finally {
      worked.written?.(isItsEnd);
      call.quota.settle?.(isItsEnd && worked.ended.end.state === 'done');
      if (isItsEnd) call.quota.charge?.();
    }
    const { usage } = worked.ended;
    // A job's page has those that went well.
    if (isItsEnd && usage && usage.code !== 'ok') parts.recordRequest?.(usage);
    if (isItsEnd) log.ended(call, { ms: performance.now() - began, waitMs });
    else log.endedBefore(call);
    // One that is left in the queue is found to have ended when it is leased again.
    await retryPolicy.run(() => done(lease)).catch(() => undefined);
  }

  return {
    /** These tenants may have items that wait. */
    open(tenants: readonly string[]): void {
      if (!closing) for (const tenant of tenants) poller.open(tenant);
    },
    size: () => inHand.size,
    /** Polls no more, lets what runs end, hands the rest back: another process has it at once. */
    async close(): Promise<void> {
      closing = true;
      const timer = setTimeout(retryPolicy.stop, closeMs).unref();
      const polled = poller.close();
      pool.handBack();
      // What runs goes on to its end; what is still on its way there is another's to do.
      for (const { watch, state } of inHand.keys()) if (!watch.isInPool) state.abort();
      await polled;
      await Promise.all(inHand.values());
      clearTimeout(timer);
      leases.close();
    },
  };
}

/** Does the same for up to `itemsPerGroup` items in one transaction; gives what came of each. */
function inGroups<T, R>(work: (all: readonly T[]) => Promise<readonly R[]>): (one: T) => Promise<R> {
  return createBatcher((all, addNext) => {
    while (all.length < itemsPerGroup && addNext());
    return work(all);
  }, isStoreAway);
}
