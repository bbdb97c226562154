import { GatewayError } from '../errors.js';
import type { FoundSecret } from './model.js';
import type { KeyStore } from './store.js';

/** What a read brought, and the mark that was taken when it began. */
export interface LookedUp<Mark> {
  found: FoundSecret | undefined;
  mark: Mark;
}

interface Waiting<Mark> {
  resolve: (result: LookedUp<Mark>) => void;
  reject: (error: unknown) => void;
  promise: Promise<LookedUp<Mark>>;
}

/** Hashes in one read, and reads at once. */
const batchSize = 100;
const concurrency = 2;
/** Beyond this many hashes waiting, a look-up is refused: anybody can invent keys with a right checksum. */
const mostWaiting = 5_000;

/**
 * Finds secrets by hash, for keys that are not cached. Whoever asks for a hash that is being looked up shares the
 * answer (its mark tells how old that is), and hashes that come while the database is busy go into one read together: a
 * flood of invented keys costs a few reads at a time, and a good key behind it waits for those only.
 */
export function createKeyLookup<Mark>(store: Pick<KeyStore, 'find'>, takeMark: () => Mark) {
  const waiting = new Map<string, Waiting<Mark>>();
  const running = new Map<string, Waiting<Mark>>();
  let reads = 0;

  function pump(): void {
    if (reads >= concurrency || waiting.size === 0) return;
    const batch = new Map([...waiting].slice(0, batchSize));
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

  async function read(batch: Map<string, Waiting<Mark>>): Promise<void> {
    const mark = takeMark();
    try {
      for (const found of await store.find([...batch.keys()])) {
        batch.get(found.secret.hash)?.resolve({ found, mark });
      }
      for (const waiter of batch.values()) waiter.resolve({ found: undefined, mark });
    } catch (error) {
      for (const waiter of batch.values()) waiter.reject(error);
    } finally {
      for (const hash of batch.keys()) running.delete(hash);
    }
  }

  return function find(hash: string): Promise<LookedUp<Mark>> {
    const same = waiting.get(hash) ?? running.get(hash);
    if (same) return same.promise;
    if (waiting.size >= mostWaiting) {
      return Promise.reject(new GatewayError('keys_unavailable', { retryAfter: 1 }));
    }
    const waiter = createWaiting<Mark>();
    waiting.set(hash, waiter);
    queueMicrotask(pump);
    return waiter.promise;
  };
}

function createWaiting<Mark>(): Waiting<Mark> {
  let resolve: Waiting<Mark>['resolve'] = () => {};
  let reject: Waiting<Mark>['reject'] = () => {};
  const promise = new Promise<LookedUp<Mark>>((yes, no) => {
    resolve = yes;
    reject = no;
  });
  return { resolve, reject, promise };
}
