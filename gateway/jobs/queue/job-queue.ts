import type { ItemRef } from '../model.js';

/** An item that this process works on, until the lease runs out or is ended. To be handed back as it was given. */
export interface Lease extends ItemRef {
  readonly tenant: string;
  /** Distinguishes this lease from any other of the item. */
  readonly token: string;
}

/**
 * Hands out items of tenants, each to one process at a time. It holds ids alone and may forget: what is to be done stands in the
 * `JobStore`. Every tenant's items are leased in the order in which they were added, but for those that come back.
 *
 * Whatever it keeps its items in may be away: every method then rejects within seconds with a `GatewayError` of code
 * `storage_unavailable` (the embedded database's is its own, `keys_unavailable`), and works again when that is back. A method that has rejected may have been done, or in part.
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
  /**
   * Gives items back, to be leased again before all others, at once or after `delayMs`; ten minutes are the most. A lease that was lost
   * is passed over.
   */
  release(leases: readonly Lease[], delayMs?: number): Promise<void>;
  /** Removes for good what waits of these items. What is leased stays, as does what was released for later. */
  remove(tenant: string, items: readonly ItemRef[]): Promise<void>;
  /**
   * Puts back what processes held that are gone. To be called every few seconds, by any process, for tenants that have work: what
   * was held comes back within `leaseMs` and two calls, in its old place.
   */
  recover(tenant: string): Promise<void>;
  readonly leaseMs: number;
  /** Ends its connections; leases are left to run out. */
  close(): Promise<void>;
}

/** How long a lease lasts unless said otherwise: what a killed process held is waited for this long. */
export const defaultLeaseMs = 15_000;
