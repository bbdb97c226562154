import { GatewayError } from '../errors.js';

/** How keys are found by one kind of name: a secret's hash, or a key's id. */
export interface KeyReading<Found> {
  /** What belongs to these names, in one read. */
  read: (names: string[]) => Promise<Found[]>;
  nameOf: (found: Found) => string;
}

/** What a read brought, and the mark that was taken when it began. */
export interface LookedUp<Found, Mark> {
  found: Found | undefined;
  mark: Mark;
}

interface Waiting<Result> {
  resolve: (result: Result) => void;
  reject: (error: unknown) => void;
  promise: Promise<Result>;
}

/** Names in one read, and reads at once. */
const batchSize = 100;
const concurrency = 2;
/** Beyond this many names waiting, a look-up is refused: anybody can invent keys with a right checksum, and ids. */
const mostWaiting = 5_000;

/**
 * Finds keys that are not cached. Whoever asks for a name that is being looked up shares the
 * answer (its mark tells how old that is), and names that come while the database is busy go into one read together: a
 * flood of invented keys costs a few reads at a time, and a good key behind it waits for those only.
 */
export function createKeyLookup<Found, Mark>(reading: KeyReading<Found>, takeMark: () => Mark) {
  type Result = LookedUp<Found, Mark>;
  const waiting = new Map<string, Waiting<Result>>();
  const running = new Map<string, Waiting<Result>>();
  let reads = 0;

  function pump(): void {
    if (reads >= concurrency || waiting.size === 0) return;
    const batch = new Map([...waiting].slice(0, batchSize));
    for (const [name, waiter] of batch) {
      waiting.delete(name);
      running.set(name, waiter);
    }
    reads += 1;
    void read(batch).finally(() => {
      reads -= 1;
      pump();
    });
  }

  async function read(batch: Map<string, Waiting<Result>>): Promise<void> {
    const mark = takeMark();
    try {
      for (const found of await reading.read([...batch.keys()])) {
        batch.get(reading.nameOf(found))?.resolve({ found, mark });
      }
      for (const waiter of batch.values()) waiter.resolve({ found: undefined, mark });
    } catch (error) {
      for (const waiter of batch.values()) waiter.reject(error);
    } finally {
      for (const name of batch.keys()) running.delete(name);
    }
  }

  return function find(name: string): Promise<Result> {
    const same = waiting.get(name) ?? running.get(name);
    if (same) return same.promise;
    if (waiting.size >= mostWaiting) {
      return Promise.reject(new GatewayError('keys_unavailable', { retryAfter: 1 }));
    }
    const waiter = createWaiting<Result>();
    waiting.set(name, waiter);
    queueMicrotask(pump);
    return waiter.promise;
  };
}

function createWaiting<Result>(): Waiting<Result> {
  let resolve: Waiting<Result>['resolve'] = () => {};
  let reject: Waiting<Result>['reject'] = () => {};
  const promise = new Promise<Result>((yes, no) => {
    resolve = yes;
    reject = no;
  });
  return { resolve, reject, promise };
}
