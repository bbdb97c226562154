import type { ItemRef } from '../model.js';

/** An item that this process works on, until the lease runs out or is ended. To be handed back as it was given. */
export interface Lease extends ItemRef {
  readonly tenant: string;
  /** Distinguishes this lease from any other of the item. */
  readonly token: string;
}

/**
 * Hands out items of tenants, each to one process at a time, in the order in which they were added, but for those that come back. It
 * holds ids alone and may forget: what is to be done stands in the `JobStore`. While its store is away, every method rejects within
 * seconds with `storage_unavailable` (the embedded database: `keys_unavailable`); what has rejected may have been done, or in part.
 */
export interface JobQueue {
  /** Adds items of a tenant; one that is in, waiting or leased, is left as it is. One that was removed is new. */
  add(tenant: string, items: readonly ItemRef[]): Promise<void>;
  /** Leases up to `most` items of a tenant, for `leaseMs` each. Never waits for one. */
  lease(tenant: string, most: number): Promise<Lease[]>;
  /** Prolongs leases; gives those that were lost, which another process may have. */
  extend(leases: readonly Lease[]): Promise<Lease[]>;
  /** Removes items for good. A lease that was lost is passed over. */
  done(leases: readonly Lease[]): Promise<void>;
  /** Gives items back, to be leased first after `delayMs`, ten minutes at most. A lost lease is passed over. */
  release(leases: readonly Lease[], delayMs?: number): Promise<void>;
  /** Removes for good what waits of these items. What is leased stays, as does what was released for later. */
  remove(tenant: string, items: readonly ItemRef[]): Promise<void>;
  /** Puts back what gone processes held, in its old place; any process calls it every few seconds. */
  recover(tenant: string): Promise<void>;
  readonly leaseMs: number;
  /** Ends its connections; leases are left to run out. */
  close(): Promise<void>;
}

/** How long a lease lasts unless said otherwise: what a killed process held is waited for this long. */
export const defaultLeaseMs = 15_000;
