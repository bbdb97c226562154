import type { Logger } from 'pino';
import { groupBy } from '../../database/rows.js';
import { isStoreAway } from '../../database/store-error.js';
import type { TenantHelpers } from '../../recipes/tenant-helpers.js';
import { itemName } from '../model.js';
import type { JobQueue, Lease } from '../queue/job-queue.js';
import type { JobStore } from '../store/job-store.js';
import type { StartedItem } from '../store/transitions.js';
import { createLackingHelpers, leftToOthers, type Retry, restOf } from './retries.js';
import type { RetryPolicy } from './retry-policy.js';
import { type Share, TenantShares } from './tenant-shares.js';

export interface PollerParts {
  queue: Pick<JobQueue, 'lease' | 'done' | 'release'>;
  store: Pick<JobStore, 'start' | 'open' | 'handBack'>;
  leases: Leases;
  retryPolicy: RetryPolicy;
  threads: number;
  /** The process's inbound budget: items' inputs have a quarter of it. */
  inbound: { most: number; bytes: number };
  logger: Pick<Logger, 'error'>;
  helpers: Pick<TenantHelpers, 'find' | 'registry'>;
  /** How long items are left to other processes whose helper this one lacks; ten minutes by default. */
  lackingMs?: number | undefined;
  /** Called with each item that is to be worked on, under this lease; `ended` is to be called when nothing more is done for it here. */
  onItem: (item: StartedItem, lease: Lease, share: Share) => void;
}

/** Work that is polled ahead for each thread, in milliseconds and in items: long ones are polled late, short ones many at a time. */
const aheadMs = 100;
const leastAhead = 2;
const mostAhead = 16;
/** Items in hand at most, with those that wait to be written. */
const mostUnwritten = 128;
/** Bytes of results that may come of what is polled ahead: the store that they go to may be slow, or away. */
const mostBytes = 64 * 2 ** 20;
/** Items for each thread whose inputs may be on their way, or here and waiting: so many downloads keep it busy from a source far away. */
const mostAheadOfThread = 32;
/** What an input is assumed to hold before any has come. */
const firstInputBytes = 1_000_000;
/** What is looked through at a time where all items found had ended: a job of ten thousand may have been cancelled. */
const lookedThrough = 500;

/** Polls the queue for items of the tenants that are open, each its share, as many as can soon be worked on. */
export function createPoller(parts: PollerParts) {
  const { queue, store, leases, retryPolicy, threads, inbound, logger, onItem } = parts;
  const retried =
    <Given extends unknown[], Result>(work: (...given: Given) => Promise<Result>) =>
    (...given: Given) =>
      retryPolicy.run(() => work(...given));
  const [lease, done, release] = [retried(queue.lease), retried(queue.done), retried(queue.release)];
  const [start, readOpen, handBack] = [retried(store.start), retried(store.open), retried(store.handBack)];
  /** What may still be polled in this round, and what more where a tenant has nothing in hand. */
  let left = 0;
  let leftForNone = 0;
  const shares = new TenantShares((given) => left > 0 || (given === 0 && leftForNone > 0), mostAheadNow);
  const lacking = createLackingHelpers(parts.helpers.registry, parts.lackingMs);
  /** Tenants that were opened since their items were asked for last: what was not there then may be now. */
  const reopened = new Set<string>();
  let working = 0;
  /** What an item's result is likely to hold. */
  let typicalBytes = 0;
  let typicalInput = firstInputBytes;
  let inHand = 0;
  let polling: Promise<void> | undefined;
  let again = false;
  /** Items of tenants that had none in hand, which are polled beside the others. */
  const besides = new Set<Promise<void>>();
  let closing = false;

  /** Items of which the results can be held until they are written. */
  function mostByBytes(): number {
    return Math.max(threads, Math.floor(mostBytes / Math.max(1, typicalBytes)));
  }

  /** Items that may be brought ahead. That they are so many, and no more, leaves calls their part of the inbound budget. */
  function mostAheadNow(): number {
    const byBytes = Math.floor(inbound.bytes / 4 / Math.max(1, typicalInput));
    const most = Math.min(threads * mostAheadOfThread, Math.floor(inbound.most / 4), byBytes, mostByBytes());
    return Math.max(leastAhead, most);
  }

  function capacity(): number {
    const ahead = Math.round(aheadMs / Math.max(1, shares.typical));
    const inTime = threads * Math.min(mostAhead, Math.max(leastAhead, ahead));
    const most = Math.min(inTime, mostByBytes());
    const free = Math.min(most - working, mostUnwritten - (inHand - shares.ahead));
    // A few at a time cost as much to poll as one.
    return free * 4 >= most || working === 0 ? Math.max(0, free) : 0;
  }

  function poll(): void {
    again = true;
    if (polling) pollBesides();
    polling ??= pollAll().finally(() => {
      polling = undefined;
      if (again && !closing) poll();
    });
  }

  async function pollAll(): Promise<void> {
    while (again && !closing) {
      again = false;
      await Promise.all([...plan(capacity())].map(([tenant, planned]) => pollTenant(tenant, planned)));
    }
  }

  /** Shares by their tenants: so many, and one of each tenant that has none. */
  function plan(most: number): Map<string, Share[]> {
    const planned: Share[] = [];
    left = most;
    // Items in hand may wait for long beside calls: a tenant that has none of them waits for none of them.
    leftForNone = Math.min(mostUnwritten, mostByBytes()) - (inHand - shares.ahead) - besides.size;
    for (let share = shares.next(); share; share = shares.next()) {
      left -= 1;
      leftForNone -= 1;
      planned.push(share);
    }
    return groupBy(planned, ({ tenant }) => tenant);
  }

  /** A tenant with nothing in hand does not wait until the many items of others have been polled either. */
  function pollBesides(): void {
    if (closing) return;
    for (const [tenant, planned] of plan(0)) {
      const one = pollTenant(tenant, planned).finally(() => {
        besides.delete(one);
        if (again && !closing) poll();
      });
      besides.add(one);
    }
  }

  async function pollTenant(tenant: string, planned: readonly Share[]): Promise<void> {
    reopened.delete(tenant);
    let used = 0;
    try {
      const leased = await lease(tenant, planned.length);
      if (leased.length < planned.length && !reopened.has(tenant)) shares.close(tenant);
      if (leased.length > 0) {
        again = true;
        const { started, aside } = await begin(leased);
        if (started.length === 0 && aside.size === 0) await dropEnded(tenant);
        // What is left to others comes first again, until another process has it.
        if (aside.has(leftToOthers)) shares.close(tenant);
        for (const [lease, item] of started) {
          working += 1;
          inHand += 1;
          onItem(item, lease, planned[used] as Share);
          used += 1;
        }
      }
    } catch (error) {
      // That a store is away is logged already. What was leased comes back when its lease runs out.
      if (!isStoreAway(error))
        logger.error(
          { err: error, tenant },
          'items could not be begun; they are when their leases have run out',
        );
      shares.close(tenant);
    } finally {
      for (const share of planned.slice(used)) share.settle(0);
    }
  }

  /** Removes from the queue what has ended of the tenant's next items, at most so many as do not keep the other tenants waiting. */
  async function dropEnded(tenant: string): Promise<void> {
    if (closing) return;
    const leased = await lease(tenant, lookedThrough);
    const open = new Set((await readOpen(leased)).map(itemName));
    const isOpen = (lease: Lease) => open.has(itemName(lease));
    await release(leased.filter(isOpen));
    await done(leased.filter((lease) => !isOpen(lease)));
  }

  /** Starts what was leased, but for what has ended or is put aside; returns both, and how the latter went back. */
  async function begin(leased: readonly Lease[]) {
    const started: [Lease, StartedItem][] = [];
    const aside = new Map<Retry, [Lease, StartedItem][]>();
    let begun = new Set<Lease>();
    for (const lease of leased) leases.hold(lease);
    try {
      if (closing) {
        await queue.release(leased);
        return { started, aside };
      }
      const items = new Map((await start(leased)).map((item) => [itemName(item), item]));
      const ended = leased.filter((lease) => !items.has(itemName(lease)));
      if (ended.length > 0) await done(ended);
      for (const lease of leased) {
        const item = items.get(itemName(lease));
        if (!item) continue;
        const retry = putAside(item);
        if (retry) aside.set(retry, [...(aside.get(retry) ?? []), [lease, item]]);
        else started.push([lease, item]);
      }
      for (const [{ counted, delayMs }, put] of aside) {
        const [items, its] = [put.map(([, item]) => item), put.map(([lease]) => lease)];
        await handBack(items, { counted });
        await release(its, delayMs);
      }
      begun = new Set(started.map(([lease]) => lease));
    } finally {
      // Where one could not be put aside, none is worked on: a lease that is held on would keep them from every process.
      for (const lease of leased) if (!begun.has(lease)) leases.drop(lease);
    }
    return { started, aside };
  }

  /** How an item goes back that is not to be begun here now: this process ends, the item is put off, or its helper is lacking. */
  function putAside(item: StartedItem): Retry | undefined {
    if (closing) return leftToOthers;
    const delayMs = restOf(item.attempt);
    return delayMs > 0 ? { counted: true, delayMs } : lacking.leave(item);
  }

  return {
    /** A tenant may have items that wait. */
    open(tenant: string): void {
      reopened.add(tenant);
      shares.open(tenant);
      poll();
    },
    /** Leaves a tenant alone until it is opened again. */
    rest: (tenant: string) => shares.close(tenant),
    weigh: (tenant: string, weight: number) => shares.weigh(tenant, weight),
    /** An item waits for its input, and needs no thread until that is here: others may be begun meanwhile. */
    bringAhead(share: Share): void {
      share.bringAhead();
      working -= 1;
      poll();
    },
    /** An item has been worked on, at this cost and with so many bytes of input and of result: another may be. */
    worked(share: Share, cost: { spent: number; bytesIn: number; bytesOut: number }): void {
      const { spent, bytesIn, bytesOut } = cost;
      if (share.isAhead) {
        // Larger ones are soon believed, as there may be many on their way.
        typicalInput += (bytesIn - typicalInput) * (bytesIn > typicalInput ? 0.5 : 0.1);
      } else working -= 1;
      typicalBytes = typicalBytes * 0.9 + bytesOut * 0.1;
      share.settle(spent);
      poll();
    },
    /** Nothing more is done for an item here. */
    ended(): void {
      inHand -= 1;
      poll();
    },
    /** Polls no more; resolves when what was being polled has been handed on or back. */
    async close(): Promise<void> {
      closing = true;
      await Promise.all([polling, ...besides]);
    },
  };
}

/** The part of a lease's time after which it is prolonged: its holder may then be away for the rest. */
const prolongedAfterPart = 3;

export type Leases = ReturnType<typeof createLeases>;

/** Prolongs held leases, all together. One that was lost is held no longer, and what is done under it may be in vain. */
export function createLeases(queue: Pick<JobQueue, 'extend' | 'leaseMs'>) {
  const held = new Set<Lease>();
  const usualMs = queue.leaseMs / prolongedAfterPart;
  let timer: NodeJS.Timeout | undefined;
  let closed = false;

  function plan(ms: number): void {
    if (!closed) timer = setTimeout(extend, ms).unref();
  }

  async function extend(): Promise<void> {
    try {
      const lost = held.size > 0 ? await queue.extend([...held]) : [];
      for (const lease of lost) held.delete(lease);
      plan(usualMs);
    } catch {
      // Those who wait for the queue log that it is away.
      plan(usualMs / 10);
    }
  }
  plan(usualMs);
  return {
    hold: (lease: Lease) => void held.add(lease),
    drop: (lease: Lease) => void held.delete(lease),
    close() {
      closed = true;
      clearTimeout(timer);
    },
  };
}
