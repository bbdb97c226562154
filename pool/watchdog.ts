import { Worker } from 'node:worker_threads';
import { isInspected } from './task-deadline.js';

/** What the watchdog's thread is told. */
export type WatchdogOrder =
  | { kind: 'begin'; id: number; doing: string; limitMs: number; ends: boolean }
  | { kind: 'end'; id: number }
  | { kind: 'orphan'; supervisor: number };

export interface BlockedOptions {
  /** Milliseconds after which it has taken too long. */
  limitMs: number;
  /** Whether the process is ended then; otherwise that is only said. */
  ends: boolean;
}

let thread: Worker | undefined;
let lastId = 0;

/** Nothing else runs while the main thread is in a loop: no timer, no signal's listener. A thread of its own does. */
function order(told: WatchdogOrder): void {
  if (!thread) {
    thread = new Worker(new URL('./watchdog-thread.js', import.meta.url), {
      execArgv: [],
      env: {},
      resourceLimits: { maxOldGenerationSizeMb: 16, maxYoungGenerationSizeMb: 2 },
    });
    // Where it cannot run, what it watches goes on as before.
    thread.on('error', () => undefined);
    thread.unref();
  }
  thread.postMessage(told);
}

/**
 * Says on stderr what this process is doing, where that has not ended in time, and ends the process if it is to. Works while the main
 * thread is in a loop. To be called on the main thread; gives how to say that it has ended.
 */
export function watchBlocked(doing: string, { limitMs, ends }: BlockedOptions): () => void {
  // Somebody may look at a breakpoint.
  if (isInspected()) return () => undefined;
  lastId += 1;
  const id = lastId;
  order({ kind: 'begin', id, doing, limitMs, ends });
  return () => order({ kind: 'end', id });
}

/** Ends this process soon after the one that supervises it has gone, also where the main thread is in a loop. */
export function endAsOrphan(supervisor: number): void {
  order({ kind: 'orphan', supervisor });
}
