import { Worker } from 'node:worker_threads';
import { isInspected } from './task-deadline.js';

/** What the watchdog's thread is told. */
export type WatchdogOrder =
  | { kind: 'begin'; id: number; steps: readonly string[]; at: Int32Array; limitMs: number; ends: boolean }
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
export function watchBlocked(doing: string, options: BlockedOptions): () => void {
  return watchSteps([doing], options).end;
}

/** Work of several steps, each of which may take as long as the limit. */
export interface WatchedSteps {
  /** The first step has begun with the watching. */
  next(): void;
  end(): void;
}

/** The same for many steps, by one order for all of them: each would cost as much as a small module's import. */
export function watchSteps(steps: readonly string[], { limitMs, ends }: BlockedOptions): WatchedSteps {
  // Somebody may look at a breakpoint.
  if (isInspected() || steps.length === 0) return { next: () => undefined, end: () => undefined };
  lastId += 1;
  const id = lastId;
  const at = new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT));
  order({ kind: 'begin', id, steps, at, limitMs, ends });
  return { next: () => void Atomics.add(at, 0, 1), end: () => order({ kind: 'end', id }) };
}

/** Ends this process soon after the one that supervises it has gone, also where the main thread is in a loop. */
export function endAsOrphan(supervisor: number): void {
  order({ kind: 'orphan', supervisor });
}
