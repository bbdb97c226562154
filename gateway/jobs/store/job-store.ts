import type { UsageRecord } from '../../usage/meter.js';
import type { Item, ItemEnd, ItemInput, ItemRef, Job } from '../model.js';
import type { HeldBytes, JobBytes } from './capacity.js';

/** A job that is to be made. Its id is of `createJobId`: the newest jobs are found by it. */
export interface NewJob extends Pick<Job, 'id' | 'tenant_id' | 'key_id' | 'service' | 'webhook_url'> {
  /** What the client calls its request, and a digest of what it asked: the same again makes no second job. */
  idempotency?: { key: string; digest: string };
  /** What it takes until its end; 0 where nobody has reckoned. */
  bytes?: number;
  /** Whether there are files among its inputs, which stay until `cleared` names the job; there are none by default. */
  files?: boolean;
}

/** What became of it. */
export type Created =
  /** `isNext`: no other job of the tenant has items that are still to be handed to the queue. */
  | { outcome: 'created'; job: Job; isNext: boolean }
  | { outcome: 'replayed'; job: Job }
  /** Another request had this idempotency key. */
  | { outcome: 'conflict' };

/** A page of a list, in its order; `next` is what `after` is to be for the one behind it. */
export interface Page<T, Next> {
  rows: T[];
  next: Next | null;
}

/** An item that may be worked on. */
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

/** What has ended by a call of `finish`. */
export interface Finished {
  /** Those of the given items of which this is the end; the others had ended already. */
  items: EndedItem[];
  jobs: Job[];
}

/** Numbers for the metrics, of all tenants. */
export interface JobStats {
  waiting: number;
  running: number;
  /** When the oldest job was made of which an item waits. */
  oldestWaitingAt: number | null;
}

/** How much is handed to the queue at a time. */
export interface HandOver {
  /** Items in all. */
  most: number;
  /** Items of a tenant that may wait in the queue. A tenant is given half as many at a time, the one first of which the fewest wait. */
  ahead: number;
}

/**
 * The truth about jobs and their items. Every method is one transaction or several that may each be done again: a process may
 * be killed between any two, and whatever was not told is found again by `unqueued`, or in the queue.
 */
export interface JobStore {
  /**
   * Makes a job with its items, whole or not at all; there is at least one. `fields` that are one and the same list in all inputs are
   * kept once. Rejects with `tenant_busy` where the tenant's jobs, this one included, would hold more than `most`.
   */
  create(job: NewJob, inputs: readonly ItemInput[], most?: JobBytes): Promise<Created>;
  /**
   * What `create` would give for an idempotency key that has made a job; undefined where it has made none, or one that ended at
   * `endedAfter` or before.
   */
  made(
    tenant: string,
    idempotency: NonNullable<NewJob['idempotency']>,
    endedAfter: number,
  ): Promise<Created | undefined>;
  /** A tenant's job; undefined where it has none of this id. */
  job(tenant: string, id: string): Promise<Job | undefined>;
  /**
   * A tenant's jobs, the newest first, without those that ended at `endedAfter` or before; `after` is the id of the last one of the
   * page before, which need not be there any more.
   */
  jobs(
    tenant: string,
    page: { limit: number; after?: string | undefined; endedAfter: number },
  ): Promise<Page<Job, string>>;
  /**
   * Items by their index; `after` is the index of the last one of the page before. A page holds fewer than `limit` where more would
   * pass 1 MB as JSON.
   */
  items(job: string, page: { limit: number; after?: number | undefined }): Promise<Page<Item, number>>;
  item(ref: ItemRef): Promise<Item | undefined>;
  /** Cancels what waits, once; gives the job as it is then, undefined where the tenant has none of this id. */
  cancel(tenant: string, id: string): Promise<Job | undefined>;

  /** What a tenant's jobs hold. */
  held(tenant: string): Promise<HeldBytes>;
  /** Says that the files that were inputs of these jobs, which have ended, are removed. */
  cleared(jobs: readonly string[]): Promise<void>;
  /** Jobs that have ended and whose files are still to be removed. */
  uncleared(most: number): Promise<string[]>;
  /** Tenants with items that have not ended. */
  openTenants(): Promise<string[]>;
  /**
   * Items that are still to be handed to the queue: those of new jobs, and those of a job that has not moved for `idleMs`, which the queue
   * may have lost. They are given again and again until `queued` names them.
   */
  unqueued(options: HandOver & { idleMs: number }): Promise<{ tenant: string; items: ItemRef[] }[]>;
  /** Says that the queue has them; gives those that have ended meanwhile. */
  queued(items: readonly ItemRef[]): Promise<ItemRef[]>;
  /** Items of a job that were cancelled while they waited in the queue. */
  cancelled(job: string): Promise<ItemRef[]>;
  /** Marks items as running and gives what is to be done; those that have ended, or whose job is gone, are left out. */
  start(items: readonly ItemRef[]): Promise<StartedItem[]>;
  /** Those of the items that have not ended. */
  open(items: readonly ItemRef[]): Promise<ItemRef[]>;
  /**
   * Puts running items back to waiting, as if this start had not been, or with the attempt `counted`. One that another has started
   * since is left to it.
   */
  handBack(
    items: readonly Pick<StartedItem, 'job' | 'index' | 'attempt'>[],
    options?: { counted: boolean },
  ): Promise<void>;
  /**
   * Ends items, each once whoever tries: counts, usage and, with the last item, the job's end and what is to be delivered to its
   * webhook are in the same transaction.
   */
  finish(items: readonly EndedItem[]): Promise<Finished>;
  /** Jobs that ended before this time, oldest first, without the `skip` first of them. */
  expired(
    endedBefore: number,
    page: { most: number; skip?: number },
  ): Promise<Pick<Job, 'id' | 'tenant_id'>[]>;
  /** Which of these jobs there are. */
  known(ids: readonly string[]): Promise<string[]>;
  /** Forgets a job and its items; one that is not there is no error. */
  remove(job: string): Promise<void>;
  stats(): Promise<JobStats>;
}
