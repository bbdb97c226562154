import type { Change, KeyStore } from './store.js';

export interface ChangeFeedOptions {
  store: Pick<KeyStore, 'lastChange' | 'changesFrom'>;
  /** A clock that never jumps, ms. */
  monotonic: () => number;
  /** Between the end of one poll and the next, ms. */
  interval: number;
  onChanges: (changes: Change[]) => void;
  /** Nothing read before may be relied on: the start, a restored database, or too many changes to follow. */
  onReset: () => void;
  /** The database stopped answering; called once until `onUp`. */
  onDown: (error: unknown) => void;
  onUp: () => void;
}

export type ChangeFeed = ReturnType<typeof createChangeFeed>;

const maxChanges = 500;

/**
 * Follows the audit log, which holds every change of every process, by one small query a second. It reads from the last
 * entry it knows, that one included: if it is no longer there, the database is not the one it was.
 */
export function createChangeFeed(options: ChangeFeedOptions) {
  const { store, monotonic, interval } = options;
  let position: Change | 'empty' | undefined;
  let confirmed = Number.NEGATIVE_INFINITY;
  let down = false;
  let closed = false;
  let timer: NodeJS.Timeout | undefined;
  let running: Promise<void> | undefined;

  function poll(): Promise<void> {
    clearTimeout(timer);
    running ??= once().finally(() => {
      running = undefined;
      schedule();
    });
    return running;
  }

  function schedule(): void {
    if (!closed) timer = setTimeout(poll, interval).unref();
  }

  async function once(): Promise<void> {
    const began = monotonic();
    try {
      await advance();
    } catch (error) {
      reportFailure(error);
      return;
    }
    confirmed = began;
    if (!down) return;
    down = false;
    if (!closed) options.onUp();
  }

  async function advance(): Promise<void> {
    if (position === undefined) return reset();
    const known = position;
    const changes = await store.changesFrom(known === 'empty' ? 0 : known.id, maxChanges);
    if (known !== 'empty') {
      const first = changes.shift();
      if (first?.id !== known.id || first.at !== known.at) return reset();
    }
    if (changes.length >= maxChanges - 1) return reset();
    const last = changes.at(-1);
    if (last === undefined) return;
    options.onChanges(changes);
    position = last;
  }

  async function reset(): Promise<void> {
    const last = await store.lastChange();
    // Only now: what was cached while this waited may be older than the position.
    options.onReset();
    position = last ?? 'empty';
  }

  function reportFailure(error: unknown): void {
    if (down || closed) return;
    down = true;
    options.onDown(error);
  }

  void poll();
  return {
    /** When the last poll that succeeded began: all that was committed before is known here. */
    confirmedAt: () => confirmed,
    /** Whether the last attempt to reach the database failed. */
    isDown: () => down,
    /** Reports a failure seen elsewhere, so that later reads need not wait for their own. */
    reportFailure,
    poll,
    close(): void {
      closed = true;
      clearTimeout(timer);
    },
  };
}
