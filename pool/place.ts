import { setTimeout as sleep } from 'node:timers/promises';
import type { LoadError } from './load-error.js';
import type { LoadFaults } from './load-faults.js';
import type { Roster } from './roster.js';
import type { Thread } from './thread.js';
import type { LoadOptions } from './thread-loading.js';

/** A thread that was opened. */
export interface Opened {
  thread: Thread;
  /** Why it is of no use; it is closed then. */
  error?: LoadError;
}

export interface OpenOptions extends LoadOptions {
  /** A start waits for a plugin's setup, however long that takes. */
  isStart?: boolean;
  /** Called when a thread has ended that was put on the roster; `ofItself` where no task is to blame. */
  onEnd: (thread: Thread, ofItself: boolean) => void;
}

export interface PlaceOptions {
  /** Starts a thread and has it load. Throws where no thread ever could. */
  open: (options: OpenOptions) => Promise<Opened>;
  roster: Roster;
  faults: LoadFaults;
  /** Called when the roster or the faults have changed. */
  onChange: () => void;
  onFault: (error: Error) => void;
  closing: AbortSignal;
}

/** The pause before a thread is replaced that ended of itself, or could not load; each further one in its place doubles it. */
const firstPauseMs = 250;
const longestPauseMs = 30_000;
/** What has failed so often in a row is no passing want of files or memory. */
const doubtfulFrom = 3;
/** A thread that has lived this long did not end of its start: its place begins again with the shortest pause. */
const soundAfterMs = 60_000;

/** Keeps one thread on the roster: another takes the place of each that ends. */
export function createPlace({ open, roster, faults, onChange, onFault, closing }: PlaceOptions) {
  /** How many threads have ended here of themselves, one after another. */
  let failures = 0;
  let since = 0;
  /** Serves the helpers that could be loaded, until a thread is there that has loaded all. */
  let stopgap: Thread | undefined;
  /** What the next stopgap does not try to load, because the last one could not. */
  let without: ReadonlyMap<string, LoadError> | undefined;
  let wake: (() => void) | undefined;
  let isHurried = false;

  function onEnd(thread: Thread, ofItself: boolean): void {
    if (ofItself) onFault(new Error('a worker thread ended while it had no task'));
    if (thread === stopgap) {
      stopgap = undefined;
      without = thread.lacking;
      // Others have lost it, too; but one that ends of itself would do so again in a tight loop.
      isHurried = !ofItself;
      if (isHurried) wake?.();
      return;
    }
    if (Date.now() - since > soundAfterMs) failures = 0;
    void replace(ofItself);
  }

  /** A task costs its thread, and the next is there at once. */
  async function replace(ofItself: boolean): Promise<void> {
    try {
      if (ofItself) {
        note(undefined);
        await rest();
      }
      await refill();
    } catch (error) {
      if (!closing.aborted) onFault(error as Error);
    }
  }

  /** Tries until a thread has loaded everything. */
  async function refill(): Promise<void> {
    for (;;) {
      const lacked = stopgap?.lacking;
      const known = lacked ? undefined : without;
      const options = lacked
        ? { first: lacked, lacksBelow: lacked.size }
        : { without: known, lacksBelow: Number.POSITIVE_INFINITY };
      const { thread, error } = await open({ ...options, onEnd });
      if (!error) put(thread);
      if (thread.lacking.size === 0 && !error) return;
      const toldBefore = new Set(known?.values());
      for (const each of error ? [error] : thread.lacking.values()) if (!toldBefore.has(each)) onFault(each);
      note(thread.lacking, error?.endsThread);
      // One plugin ends its threads: the others' calls are served without it.
      if (error?.endsThread && thread.lacking.size > 0 && !stopgap) without = thread.lacking;
      else await rest();
    }
  }

  /** Puts a thread to work, in place of the stopgap that there may be. */
  function put(thread: Thread): void {
    const last = stopgap;
    stopgap = thread.lacking.size > 0 ? thread : undefined;
    since = Date.now();
    isHurried = false;
    // What was left out may be loaded again where all could be.
    if (!stopgap) without = undefined;
    roster.add(thread);
    if (last) roster.dismiss(last);
    if (!stopgap) faults.clear();
    onChange();
  }

  /** Has calls refused that would wait for long. */
  function note(lacking: ReadonlyMap<string, LoadError> | undefined, isGrave = false): void {
    const isDoubtful = isGrave || failures + 1 >= doubtfulFrom;
    faults.note(lacking?.size ? lacking : undefined, { at: Date.now() + pauseMs(), isDoubtful });
    onChange();
  }

  function pauseMs(): number {
    return Math.min(longestPauseMs, firstPauseMs * 2 ** failures);
  }

  /** Waits for the next try, or until the stopgap is lost. */
  async function rest(): Promise<void> {
    if (!isHurried) {
      await new Promise<void>((resolve) => {
        const timer = setTimeout(end, pauseMs()).unref();
        function end(): void {
          clearTimeout(timer);
          closing.removeEventListener('abort', end);
          wake = undefined;
          resolve();
        }
        closing.addEventListener('abort', end);
        wake = end;
      });
    }
    isHurried = false;
    failures += 1;
    closing.throwIfAborted();
  }

  return {
    /** Has the first thread load everything, in so many tries. Throws a `LoadError` where that cannot be. */
    async start(attempts: number): Promise<void> {
      for (let tried = 1; ; tried += 1) {
        const { thread, error } = await open({ isStart: true, onEnd });
        if (!error) return put(thread);
        note(thread.lacking);
        // A start tells of a setup at once: it does not pass, and a second try would run it twice.
        if (tried >= attempts || error.inSetup) throw error;
        onFault(error);
        await sleep(pauseMs(), undefined, { signal: closing });
        failures += 1;
      }
    },
  };
}
