import { performance } from 'node:perf_hooks';
import { LRUCache } from 'lru-cache';
import { GatewayError } from '../../errors.js';
import { type ResultStore, ResultStoreError } from '../results/result-store.js';
import type { JobStore } from '../store/job-store.js';
import type { Patience } from './patience.js';

export interface ItemResultsOptions {
  results: Pick<ResultStore, 'get' | 'put'>;
  store: Pick<JobStore, 'held'>;
  patience: Pick<Patience, 'run'>;
  /** What a tenant's results may hold. */
  mostBytes: number;
  /** A clock that never jumps, ms; for tests. */
  now?: () => number;
}

/** The result store as items use it. Rejects with a `StoreGivenUp` where it has been full or away for as long as an item waits. */
export interface ItemResults {
  get: ResultStore['get'];
  put: ResultStore['put'];
  /**
   * Rejects with `too_large` where a tenant's results would hold more than they may with so many bytes more; else counts these until
   * what it gives is called, with whether they are kept.
   */
  reserve(tenant: string, bytes: number): Promise<(kept: boolean) => void>;
}

/** The end of an item: what else failed with the store may be tried again. */
export class StoreGivenUp extends ResultStoreError {}

/** How long an item waits for a store. One that has been away for this long already is asked once. */
const longestMs = 60_000;
/** The longest pause between two tries. */
const pauseMs = 5_000;
/** How long it is believed what a tenant's results hold: other processes add to it. */
const freshMs = 1_000;

/** What a tenant's results hold. */
interface Held {
  bytes: number;
  /** What is counted here and not yet in `bytes`. */
  reserved: number;
  readAt: number;
}

export function createItemResults(options: ItemResultsOptions): ItemResults {
  const { results, store, patience, mostBytes, now = () => performance.now() } = options;
  const tenants = new LRUCache<string, Held>({ max: 10_000 });
  /** Since when nothing has worked that failed; a full store may take what is smaller. */
  let outage: { since: number; last: number; bytes: number } | undefined;

  function fail(bytes: number, error: unknown): void {
    const time = now();
    if (outage && time - outage.last > longestMs) outage = undefined;
    const least = error instanceof ResultStoreError && error.isFull ? bytes : 0;
    outage = {
      since: outage?.since ?? time,
      last: time,
      bytes: Math.min(least, outage?.bytes ?? least),
    };
  }

  async function ask<T>(bytes: number, work: () => Promise<T>): Promise<T> {
    const began = now();
    let tried = began;
    async function attempt(): Promise<T> {
      tried = now();
      try {
        const result = await work();
        if (outage && bytes >= outage.bytes) outage = undefined;
        return result;
      } catch (error) {
        fail(bytes, error);
        throw error;
      }
    }
    // Before the next try would pass the time: a store that hangs takes long to say so.
    const isLate = () => {
      const next = now() + (now() - tried) + pauseMs;
      return next - Math.min(began, outage?.since ?? began) > longestMs;
    };
    return patience.run(attempt, (error) =>
      error instanceof ResultStoreError && isLate() ? new StoreGivenUp(error.cause) : undefined,
    );
  }

  async function heldBy(tenant: string): Promise<Held> {
    const known = tenants.get(tenant);
    if (known && now() - known.readAt < freshMs) return known;
    const readAt = now();
    const { results: bytes } = await store.held(tenant);
    const held = Object.assign(tenants.get(tenant) ?? { reserved: 0 }, { bytes, readAt });
    tenants.set(tenant, held);
    return held;
  }

  return {
    get: (name) => ask(0, () => results.get(name)),
    put: (name, bytes) => ask(bytes.length, () => results.put(name, bytes)),
    async reserve(tenant, bytes) {
      const held = await heldBy(tenant);
      if (held.bytes + held.reserved + bytes > mostBytes) {
        const message = `The results of your jobs may hold ${mostBytes} bytes, and there is no room for this one. Delete jobs that have ended, or wait until they expire.`;
        throw new GatewayError('too_large', { message });
      }
      held.reserved += bytes;
      return (kept) => {
        held.reserved -= bytes;
        if (kept) held.bytes += bytes;
      };
    },
  };
}
