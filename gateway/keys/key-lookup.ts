import { GatewayError } from '../errors.js';
import type { FoundSecret } from './model.js';
import type { KeyStore } from './store.js';

interface Waiting {
  resolve: (found: FoundSecret | undefined) => void;
  reject: (error: unknown) => void;
  promise: Promise<FoundSecret | undefined>;
}

/** Hashes in one read, and reads at once. */
const BATCH = 100;
const CONCURRENCY = 2;
/** Beyond this many hashes waiting, a look-up is refused: anybody can invent keys with a right checksum. */
const MAX_WAITING = 5_000;

/**
 * Finds secrets by hash, for keys that are not cached. Whoever asks for a hash that is being looked up shares the
 * answer, and hashes that come while the database is busy go into one read together: a flood of invented keys costs
 * a few reads at a time, and a good key behind it waits for those only.
 */
export function createKeyLookup(store: Pick<KeyStore, 'find'>) {
  const waiting = new Map<string, Waiting>();
  const running = new Map<string, Waiting>();
  let reads = 0;

  function pump(): void {
    if (reads >= CONCURRENCY || waiting.size === 0) return;
    const batch = new Map([...waiting].slice(0, BATCH));
    for (const [hash, waiter] of batch) {
      waiting.delete(hash);
      running.set(hash, waiter);
    }
    reads += 1;
    void read(batch).finally(() => {
      reads -= 1;
      pump();
    });
  }

  async function read(batch: Map<string, Waiting>): Promise<void> {
    try {
      const found = await store.find([...batch.keys()]);
      for (const { secret, ...rest } of found) {
        batch.get(secret.hash)?.resolve({ secret, ...rest });
      }
      for (const waiter of batch.values()) waiter.resolve(undefined);
    } catch (error) {
      for (const waiter of batch.values()) waiter.reject(error);
    } finally {
      for (const hash of batch.keys()) running.delete(hash);
    }
  }

  return function find(hash: string): Promise<FoundSecret | undefined> {
    const same = waiting.get(hash) ?? running.get(hash);
    if (same) return same.promise;
    if (waiting.size >= MAX_WAITING) {
      return Promise.reject(new GatewayError('keys_unavailable', { retryAfter: 1 }));
    }
    const waiter = createWaiting();
    waiting.set(hash, waiter);
    queueMicrotask(pump);
    return waiter.promise;
  };
}

function createWaiting(): Waiting {
  let resolve: Waiting['resolve'] = () => {};
  let reject: Waiting['reject'] = () => {};
  const promise = new Promise<FoundSecret | undefined>((yes, no) => {
    resolve = yes;
    reject = no;
  });
  return { resolve, reject, promise };
}
