import type { Logger } from 'pino';
import { isStoreAway } from '../../database/store-error.js';
import type { LiveRegistry } from '../../plugins/registry.js';
import type { JobQueue, Lease } from '../queue/job-queue.js';
import type { JobStore } from '../store/job-store.js';
import type { StartedItem } from '../store/transitions.js';
import { createLackingHelpers, leftToOthers, type Retry, restOf } from './retries.js';
import type { RetryPolicy } from './retry-policy.js';
import { type Share, TenantShares } from './tenant-shares.js';

export interface PollerParts {
  queue: Pick<JobQueue, 'take' | 'done' | 'release'>;
  store: Pick<JobStore, 'start' | 'open' | 'handBack'>;
  leases: Leases;
  patience: RetryPolicy;
  threads: number;
  /** What may be on its way to this process: items' inputs have a quarter of it. */
  inbound: { most: number; bytes: number };
  logger: Pick<Logger, 'error'>;
  registry: Pick<LiveRegistry, 'get'>;
  /** How long items are left to others whose helper this process lacks; ten minutes by default. */
  lackingMs?: number | undefined;
  /** Called with each item that is to be worked on, under this lease; `ended` is to be called when it has been seen to its end. */
  onItem: (item: StartedItem, lease: Lease, share: Share) => void;
}

/** Takes items as they can be worked on. */
interface Poller {
  /** Says that a tenant may have items that wait. */
  open(tenant: string): void;
  /** Leaves a tenant alone until it is opened again. */
  rest(tenant: string): void;
  weigh(tenant: string, weight: number): void;
  /** An item waits for its input, and needs no thread until that is here: others may be begun meanwhile. */
  bringAhead(share: Share): void;
  /** An item has been worked on, at this cost and with so many bytes of input and of result: another may be. */
  worked(share: Share, worked: { spent: number; bytesIn: number; bytesOut: number }): void;
  /** It has been seen to its end. */
  ended(): void;
  /** Takes no more; resolves when what was being taken has been handed on or back. */
  close(): Promise<void>;
}

/** Work that is taken ahead for each thread, in milliseconds, and items of it: long ones are taken late, short ones many at a time. */
const aheadMs = 100;
const leastAhead = 2;
const mostAhead = 16;
/** Items in hand at most, those besides that have been worked on and wait to be written. */
const mostUnwritten = 128;
/** Bytes of results that may come of what is taken ahead: where they are to be written may be slow, or away. */
const mostBytes = 64 * 2 ** 20;

/** Items for each thread whose inputs may be on their way, or here and waiting: so many downloads keep it busy from a source far away. */
const mostAheadOfThread = 32;
/** What an input is taken to hold before any has come. */
const firstInputBytes = 1_000_000;

/** What is looked through at a time where nothing was found that is still to be done: a job of ten thousand items may have been called off. */
const lookedThrough = 500;

/** What has become of leased items. */
interface Begun {
  started: [Lease, StartedItem][];
  /** Those that went back, and how. */
  aside: Map<Retry, [Lease, StartedItem][]>;
}

const atOnce: Retry = { counted: false, delayMs: 0 };

/** Takes items of the tenants that are open, each its share, as many as can soon be worked on. */
export function createPoller(parts: PollerParts): Poller {
  const { queue, store, leases, patience, threads, inbound, logger, onItem } = parts;
  /** What may still be taken in this round, and what more where a tenant has nothing in hand. */
  let left = 0;
  let leftForNone = 0;
  const shares = new TenantShares((given) => left > 0 || (given === 0 && leftForNone > 0), mostAheadNow);
  const lacking = createLackingHelpers(parts.registry, parts.lackingMs);
  /** Tenants that were opened since their items were asked for last: what was not there then may be now. */
  const anew = new Set<string>();
  let working = 0;
  /** What an item's result is likely to hold. */
  let typicalBytes = 0;
  let typicalInput = firstInputBytes;
  let inHand = 0;
  let taking: Promise<void> | undefined;
  let again = false;
  /** Items that are being taken besides, of tenants that had none. */
  const besides = new Set<Promise<void>>();
  let closing = false;

  /** Items of which the results can be held until they are written. */
  function mostByBytes(): number {
    return Math.max(threads, Math.floor(mostBytes / Math.max(1, typicalBytes)));
  }

  /** Items that may be brought ahead. That they are so many, and no more, leaves calls their room among what arrives. */
  function mostAheadNow(): number {
    const byBytes = Math.floor(inbound.bytes / 4 / Math.max(1, typicalInput));
    const most = Math.min(threads * mostAheadOfThread, Math.floor(inbound.most / 4), byBytes, mostByBytes());
    return Math.max(leastAhead, most);
  }

  function room(): number {
    const ahead = Math.round(aheadMs / Math.max(1, shares.typical));
    const inTime = threads * Math.min(mostAhead, Math.max(leastAhead, ahead));
    const most = Math.min(inTime, mostByBytes());
    const free = Math.min(most - working, mostUnwritten - (inHand - shares.ahead));
    // A few at a time cost as much to take as one.
    return free * 4 >= most || working === 0 ? Math.max(0, free) : 0;
  }

  function look(): void {
    again = true;
    if (taking) takeBesides();
    taking ??= takeAll().finally(() => {
      taking = undefined;
      if (again && !closing) look();
    });
  }

  async function takeAll(): Promise<void> {
    while (again && !closing) {
      again = false;
      await Promise.all([...plan(room())].map(([tenant, planned]) => takeFrom(tenant, planned)));
    }
  }

  /** Shares by their tenants: so many, and one of each tenant that has none. */
  function plan(most: number): Map<string, Share[]> {
    const planned = new Map<string, Share[]>();
    left = most;
    // Items in hand may wait for long beside calls: a tenant that has none of them waits for none of them.
    leftForNone = Math.min(mostUnwritten, mostByBytes()) - (inHand - shares.ahead) - besides.size;
    for (let share = shares.next(); share; share = shares.next()) {
      left -= 1;
      leftForNone -= 1;
      planned.set(share.tenant, [...(planned.get(share.tenant) ?? []), share]);
    }
    return planned;
  }

  /** A tenant with nothing in hand does not wait until the many items of others have been taken either. */
  function takeBesides(): void {
    if (closing) return;
    for (const [tenant, planned] of plan(0)) {
      const take = takeFrom(tenant, planned).finally(() => {
        besides.delete(take);
        if (again && !closing) look();
      });
      besides.add(take);
    }
  }

  async function takeFrom(tenant: string, planned: readonly Share[]): Promise<void> {
    anew.delete(tenant);
    let used = 0;
    try {
      const leased = await patience.run(() => queue.take(tenant, planned.length));
      if (leased.length < planned.length && !anew.has(tenant)) shares.close(tenant);
      if (leased.length > 0) {
        again = true;
        const { started, aside } = await begin(leased);
        if (started.length === 0 && aside.size === 0) await dropEnded(tenant);
        // What is left to others comes first again, until they have taken it.
        if (aside.has(leftToOthers)) shares.close(tenant);
        for (const [lease, item] of started) {
          working += 1;
          inHand += 1;
          onItem(item, lease, planned[used] as Share);
          used += 1;
        }
      }
    } catch (error) {
      // That something is away has been told. What was leased comes back when its lease runs out.
      if (!isStoreAway(error)) {
        logger.error(
          { err: error, tenant },
          'items could not be taken; they are when their leases have run out',
        );
      }
      shares.close(tenant);
    } finally {
      for (const share of planned.slice(used)) share.settle(0);
    }
  }

  /** Takes out what has ended of the tenant's next items, at most so many as do not keep the other tenants waiting. */
  async function dropEnded(tenant: string): Promise<void> {
    if (closing) return;
    const leased = await patience.run(() => queue.take(tenant, lookedThrough));
    const open = new Set((await patience.run(() => store.open(leased))).map(nameOf));
    await patience.run(() => queue.release(leased.filter((lease) => open.has(nameOf(lease)))));
    await patience.run(() => queue.done(leased.filter((lease) => !open.has(nameOf(lease)))));
  }

  /** Starts what was leased, but for what has ended, or is put aside for a while. */
  async function begin(leased: readonly Lease[]): Promise<Begun> {
    for (const lease of leased) leases.hold(lease);
    const started: Begun['started'] = [];
    const aside: Begun['aside'] = new Map();
    let kept = new Set<Lease>();
    try {
      if (closing) await queue.release(leased);
      else {
        const items = await patience.run(() => store.start(leased));
        const byRef = new Map(items.map((item) => [nameOf(item), item]));
        const ended = leased.filter((lease) => !byRef.has(nameOf(lease)));
        if (ended.length > 0) await patience.run(() => queue.done(ended));
        for (const lease of leased) {
          const item = byRef.get(nameOf(lease));
          if (!item) continue;
          const retry = putAside(item);
          if (retry) aside.set(retry, [...(aside.get(retry) ?? []), [lease, item]]);
          else started.push([lease, item]);
        }
        for (const [retry, put] of aside) await giveBack(put, retry);
      }
      kept = new Set(started.map(([lease]) => lease));
    } finally {
      // Where one could not be left alone, none is worked on: a lease that is held on would keep them from everybody.
      for (const lease of leased) if (!kept.has(lease)) leases.drop(lease);
    }
    return { started, aside };
  }

  /** How an item goes back that is not to be begun here now: the end has begun, it is put off, or its helper is lacking. */
  function putAside(item: StartedItem): Retry | undefined {
    if (closing) return atOnce;
    const delayMs = restOf(item.attempt);
    return delayMs > 0 ? { counted: true, delayMs } : lacking.leave(item);
  }

  async function giveBack(put: readonly [Lease, StartedItem][], { counted, delayMs }: Retry): Promise<void> {
    const items = put.map(([, item]) => item);
    const leased = put.map(([lease]) => lease);
    await patience.run(() => store.handBack(items, { counted }));
    await patience.run(() => queue.release(leased, delayMs));
  }

  return {
    open(tenant) {
      anew.add(tenant);
      shares.open(tenant);
      look();
    },
    rest(tenant) {
      shares.close(tenant);
    },
    weigh: (tenant, weight) => shares.weigh(tenant, weight),
    bringAhead(share) {
      share.bringAhead();
      working -= 1;
      look();
    },
    worked(share, { spent, bytesIn, bytesOut }) {
      if (share.isAhead) {
        // Larger ones are soon believed, as there may be many on their way.
        typicalInput += (bytesIn - typicalInput) * (bytesIn > typicalInput ? 0.5 : 0.1);
      } else working -= 1;
      typicalBytes = typicalBytes * 0.9 + bytesOut * 0.1;
      share.settle(spent);
      look();
    },
    ended() {
      inHand -= 1;
      look();
    },
    async close() {
      closing = true;
      await Promise.all([taking, ...besides]);
    },
  };
}

function nameOf({ job, index }: Pick<Lease, 'job' | 'index'>): string {
  return `${job} ${index}`;
}

/** Leases that are kept from running out. */
interface Leases {
  hold(lease: Lease): void;
  drop(lease: Lease): void;
  close(): void;
}

/** The part of a lease's time after which it is prolonged: what holds it may then be away for the rest. */
const prolongedAfterPart = 3;

/** Prolongs what is held, all together; one that was lost all the same is held no longer, and what is done under it may be in vain. */
export function createLeases(queue: Pick<JobQueue, 'extend' | 'leaseMs'>): Leases {
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
      for (const each of held) if (lost.some((one) => isSame(one, each))) held.delete(each);
      plan(usualMs);
    } catch {
      // That it does not answer is told by whoever waits for it.
      plan(usualMs / 10);
    }
  }

  plan(usualMs);
  return {
    hold: (lease) => void held.add(lease),
    drop: (lease) => void held.delete(lease),
    close() {
      closed = true;
      clearTimeout(timer);
    },
  };
}

function isSame(a: Lease, b: Lease): boolean {
  return a.job === b.job && a.index === b.index && a.token === b.token;
}
