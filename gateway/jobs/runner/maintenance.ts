import { setTimeout as pause } from 'node:timers/promises';
import type { Logger } from 'pino';
import type { ItemRef, Job } from '../model.js';
import type { JobQueue } from '../queue/job-queue.js';
import type { JobStore } from '../store/job-store.js';
import type { RetryPolicy } from './retry-policy.js';

interface MaintenanceParts {
  store: Pick<JobStore, 'unqueued' | 'queued' | 'openTenants'>;
  queue: Pick<JobQueue, 'add' | 'remove' | 'recover'>;
  retryPolicy: RetryPolicy;
  logger: Pick<Logger, 'error'>;
  /** Whether this process sees the files of jobs, or did a moment ago: else it opens no tenant. */
  seesFiles: (options?: { anew: boolean }) => Promise<boolean>;
  /** Called with tenants that have items that wait. */
  onOpen: (tenants: readonly string[]) => void;
  /** Milliseconds between two looks; default 1000. */
  pollMs?: number | undefined;
}

/** So few that a tenant's new job does not wait behind the many items of another's, and so many that no process waits for work. */
const amounts = { most: 500, ahead: 500 };
/** How soon to look again, and for how long, after a tenant was given as much as it may have: it may have more. */
const refillMs = 100;
const refillForMs = 2_000;
/** A job that has not moved for this long is handed to the queue again, which may have lost it. */
const idleMs = 120_000;
const recoverMs = 5_000;
/** Looks without anything open after which they are further apart, and how far. */
const idleLooks = 60;
const idleFactor = 3;

type CreatedJob = Pick<Job, 'id' | 'tenant_id' | 'total'>;

export type Maintenance = ReturnType<typeof createMaintenance>;

/** Hands new items to the queue, opens tenants that have any, and puts back what killed processes held. */
export function createMaintenance(parts: MaintenanceParts) {
  const { store, queue, retryPolicy, logger, seesFiles, onOpen, pollMs = 1_000 } = parts;
  let closed = false;
  let waking = new AbortController();
  let last: readonly string[] = [];
  let quiet = 0;
  let recoverAt = 0;
  let refillUntil = 0;
  let findAt = 0;
  const underWay = new Set<Promise<void>>();

  async function give(tenant: string, items: readonly ItemRef[], look?: { anew: boolean }): Promise<void> {
    await queue.add(tenant, items);
    if (await seesFiles(look)) onOpen([tenant]);
    const ended = await store.queued(items);
    if (ended.length > 0) await queue.remove(tenant, ended);
  }

  async function handOver(): Promise<void> {
    for (;;) {
      const groups = await store.unqueued({ ...amounts, idleMs });
      if (groups.length === 0 || closed) return;
      for (const { tenant, items } of groups) {
        if (items.length >= amounts.ahead / 2) refillUntil = performance.now() + refillForMs;
        await give(tenant, items, { anew: true });
      }
    }
  }

  async function find(): Promise<void> {
    if (performance.now() < findAt) return;
    const usualMs = quiet > idleLooks ? pollMs * idleFactor : pollMs;
    findAt = performance.now() + usualMs * (0.75 + Math.random() / 2);
    if (!(await seesFiles())) return;
    const open = await store.openTenants();
    // Of those that were open a moment ago the queue may hold what was cancelled: the poller removes it.
    const tenants = [...new Set([...open, ...last])];
    last = open;
    quiet = tenants.length > 0 ? 0 : quiet + 1;
    // As long as there was no job, any store could replace another; now that there is one, it is settled.
    if (open.length > 0 && !(await seesFiles({ anew: true }))) return;
    onOpen(tenants);
    if (tenants.length === 0 || performance.now() < recoverAt) return;
    recoverAt = performance.now() + recoverMs;
    for (const tenant of tenants) await queue.recover(tenant);
  }

  function wake(): void {
    findAt = 0;
    waking.abort();
  }

  async function run(): Promise<void> {
    while (!closed) {
      waking = new AbortController();
      for (const work of [handOver, find]) {
        if (closed) return;
        await retryPolicy
          .run(work)
          .catch((error) => closed || logger.error({ err: error }, 'maintenance of jobs failed'));
      }
      if (closed) return;
      const now = performance.now();
      const ms = now < refillUntil ? Math.min(findAt - now, refillMs) : findAt - now;
      await pause(ms, undefined, { ref: false, signal: waking.signal }).catch(() => undefined);
    }
  }

  const running = run();
  return {
    /** A few items are handed over at once where `isNext`: none of their tenant's are before them. */
    created({ id: job, tenant_id: tenant, total }: CreatedJob, isNext: boolean): void {
      quiet = 0;
      if (closed || !isNext || total > amounts.ahead / 2) {
        wake();
        return;
      }
      const items = Array.from({ length: total }, (_, index) => ({ job, index }));
      // What fails here is found by `handOver`.
      const handing = give(tenant, items)
        .catch(wake)
        .finally(() => underWay.delete(handing));
      underWay.add(handing);
    },
    async close(): Promise<void> {
      closed = true;
      waking.abort();
      await Promise.all([running, ...underWay]);
    },
  };
}
