import { randomUUID } from 'node:crypto';
import { ErrorCode, type IQueueBackend, type JobJson, type MinimalJob } from 'bullmq';
import { forEachConcurrent } from '../../../pool/concurrency.js';
import { groupBy, slices } from '../../database/rows.js';
import { type StoreName, toStoreError } from '../../database/store-error.js';
import type { ItemRef } from '../model.js';
import type { JobQueue, Lease } from './job-queue.js';

/** A backend of BullMQ that is open: on Redis, or on PostgreSQL. */
interface BullmqBackend {
  /** Of no queue in particular: those of the tenants share its connections, and are nothing but names. */
  root: IQueueBackend;
  leaseMs: number;
  lanes: number;
  onFault?(error: unknown): void;
  close(): Promise<void>;
}

/** BullMQ's own number is 10,000, for listeners to a queue. There is none here, and every tenant has as many. */
const maxEvents = 100;
/** What one command adds: neither Redis nor the event loop is held for long. */
const addedAtOnce = 500;
/** The lease was lost: the item is gone, without a lock, not active, or locked by another. */
const { JobNotExist, JobLockNotExist, JobNotInState, JobLockMismatch } = ErrorCode;
const lostCodes = new Set<unknown>([JobNotExist, JobLockNotExist, JobNotInState, JobLockMismatch]);

const jobQueue: StoreName = { code: 'storage_unavailable', name: 'The queue of jobs of this gateway' };

/** BullMQ's options of a backend; they hold for all tenants. */
export function backendOptions(leaseMs: number) {
  return {
    lockDuration: leaseMs,
    // What no process holds is found by two looks, no closer to each other than this.
    stalledInterval: Math.ceil(leaseMs / 5),
    // How often an item may be lost with its process is checked where its attempts are counted.
    maxStalledCount: 1_000_000_000,
  };
}

/**
 * BullMQ's queues, one a tenant, without its workers, which would have a connection, timers and a loop each (taskforcesh/bullmq#303).
 * So this file alone uses what stands below them: `IQueueBackend`, the stored form of a job, and its error codes.
 */
export function createBullmqQueue(backend: BullmqBackend, prefix: string): JobQueue {
  const { root, leaseMs, lanes } = backend;
  const underWay = new Set<Promise<unknown>>();
  const delays = new Set<NodeJS.Timeout>();
  let closed = false;

  const queueOf = (tenant: string): IQueueBackend => root.forQueue(tenant, prefix);

  /** BullMQ leaves what is asked of a closed connection open for ever. */
  async function run<T>(work: () => Promise<T>): Promise<T> {
    if (closed) throw toStoreError(jobQueue, new Error('the queue is closed'));
    const running = work();
    underWay.add(running);
    try {
      return await running;
    } catch (error) {
      backend.onFault?.(error);
      throw toStoreError(jobQueue, error);
    } finally {
      underWay.delete(running);
    }
  }

  async function leaseOne(queue: IQueueBackend, tenant: string, token: string): Promise<Lease | undefined> {
    const [item, id] = await queue.moveToActive(token);
    return item ? { tenant, ...refOf(id), token } : undefined;
  }

  async function lease(tenant: string, most: number): Promise<Lease[]> {
    const queue = queueOf(tenant);
    const token = randomUUID();
    const first = most > 0 ? await leaseOne(queue, tenant, token) : undefined;
    if (!first) return [];
    const leased = [first];
    let empty = false;
    // What was leased is given, whatever came of the others.
    await forEachConcurrent(Array(most - 1), lanes, async () => {
      const lease = empty ? undefined : await leaseOne(queue, tenant, token);
      if (lease) leased.push(lease);
      else empty = true;
    }).catch(() => undefined);
    return leased;
  }

  /** Prolongs leases; returns those that were lost. */
  async function extend(leases: readonly Lease[], ms: number): Promise<Lease[]> {
    const lost = await Promise.all(
      [...groupBy(leases, ({ tenant }) => tenant)].map(async ([tenant, held]) => {
        const tokens = held.map(({ token }) => token);
        const gone = new Set(await queueOf(tenant).extendLocks(held.map(idOf), tokens, ms));
        return held.filter((lease) => gone.has(idOf(lease)));
      }),
    );
    return lost.flat();
  }

  async function giveBack(leases: readonly Lease[]): Promise<void> {
    // Each goes before those that were put in front before it.
    for (const lease of leases.toReversed()) {
      await unlessLost(queueOf(lease.tenant).retryJob(idOf(lease), true, lease.token));
    }
  }

  /** Under their leases: BullMQ's own delayed items come back behind all others, and by the wall clock. */
  async function delay(leases: readonly Lease[], delayMs: number): Promise<void> {
    const lost = new Set(await extend(leases, delayMs + leaseMs));
    const held = leases.filter((lease) => !lost.has(lease));
    const timer = setTimeout(() => {
      delays.delete(timer);
      run(() => giveBack(held)).catch(() => undefined);
    }, delayMs).unref();
    delays.add(timer);
  }

  return {
    leaseMs,

    add: (tenant, items) =>
      run(async () => {
        const queue = queueOf(tenant);
        await queue.setQueueMeta({ 'opts.maxLenEvents': maxEvents });
        for (const part of slices(items, addedAtOnce)) await queue.addJobs(part.map(entryOf));
      }),

    lease: (tenant, most) => run(() => lease(tenant, most)),
    extend: (leases) => run(() => extend(leases, leaseMs)),

    done: (leases) =>
      run(() =>
        forEachConcurrent(leases, lanes, ({ tenant, token, ...item }) => {
          // As much of BullMQ's job as its end needs.
          const job = { id: idOf(item), opts: {} } as MinimalJob;
          return unlessLost(queueOf(tenant).moveToCompleted(job, null, true, token, false));
        }),
      ),

    release: (leases, delayMs = 0) => run(() => (delayMs > 0 ? delay(leases, delayMs) : giveBack(leases))),

    remove: (tenant, items) =>
      run(() => forEachConcurrent(items, lanes, (item) => queueOf(tenant).remove(idOf(item), false))),

    recover: (tenant) =>
      run(async () => {
        const queue = queueOf(tenant);
        const found = (await queue.moveStalledJobsToWait()).map((id) => ({ id, ...refOf(id) }));
        // On PostgreSQL they were put behind all others, and on Redis in no order.
        found.sort((a, b) => (a.job === b.job ? b.index - a.index : a.job < b.job ? 1 : -1));
        for (const { id } of found) await unlessLost(queue.changePriority(id, 0, true));
      }),

    async close() {
      closed = true;
      for (const timer of delays) clearTimeout(timer);
      await Promise.allSettled(underWay);
      await backend.close();
    },
  };
}

/** BullMQ allows no colon in the id of a job. */
function idOf({ job, index }: ItemRef): string {
  return `${job}.${index}`;
}

function refOf(id: string): ItemRef {
  const dot = id.lastIndexOf('.');
  return { job: id.slice(0, dot), index: Number(id.slice(dot + 1)) };
}

/** The id says all; what is found under the same id again is left as it is. */
function entryOf(item: ItemRef): { job: JobJson; jobId: string } {
  const id = idOf(item);
  const job = {
    ...{ id, name: 'item', data: '{}', opts: {}, progress: 0, timestamp: Date.now() },
    ...{ attemptsMade: 0, attemptsStarted: 0, stalledCounter: 0, failedReason: '', returnvalue: 'null' },
  };
  return { jobId: id, job };
}

async function unlessLost(work: Promise<unknown>): Promise<void> {
  try {
    await work;
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && lostCodes.has(error.code))) throw error;
  }
}
