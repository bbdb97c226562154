import inspector from 'node:inspector';
import { Worker } from 'node:worker_threads';

/** Milliseconds in which a handler whose signal was aborted may still end by itself. */
const graceMs = 250;

/** The deadline of the tasks that a thread runs one after another. */
interface TaskDeadline {
  /** A task begins that may take so many milliseconds. */
  begin(ms: number): void;
  /** It has ended. */
  end(): void;
  close(): void;
}

interface TaskDeadlineOptions {
  /** The time is up: notifies the task, and returns whether it has its grace; false where none runs. */
  onTime: () => boolean;
  /** The task has not ended by itself. */
  onOver: () => void;
  isDebugged?: (() => boolean) | undefined;
}

/** Whether a debugger may be attached to this process: stepping through a handler must not end it. */
export function isInspected(): boolean {
  return inspector.url() !== undefined;
}

/**
 * One timer, refreshed by each task of the same length: creating one costs as much as a stage. It may fire between two tasks.
 */
export function createTaskDeadline({
  onTime,
  onOver,
  isDebugged = isInspected,
}: TaskDeadlineOptions): TaskDeadline {
  let timer: NodeJS.Timeout | undefined;
  let length = 0;
  let grace: NodeJS.Timeout | undefined;

  function expire(): void {
    if (isDebugged()) return;
    if (onTime()) grace = setTimeout(onOver, graceMs).unref();
  }

  function endGrace(): void {
    if (grace) clearTimeout(grace);
    grace = undefined;
  }

  return {
    begin(ms) {
      if (timer && ms === length) {
        timer.refresh();
        return;
      }
      clearTimeout(timer);
      length = ms;
      // The port to the worker keeps the process alive while a task runs.
      timer = setTimeout(expire, ms).unref();
    },
    end: endGrace,
    close() {
      clearTimeout(timer);
      endGrace();
    },
  };
}

/** A message to the watchdog's thread. */
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

let watchdog: Worker | undefined;
let lastId = 0;

/** Nothing else runs while the main thread is in a loop: no timer, no signal's listener. A thread of its own does. */
function sendOrder(message: WatchdogOrder): void {
  if (!watchdog) {
    watchdog = new Worker(new URL('./watchdog-thread.js', import.meta.url), {
      execArgv: [],
      env: {},
      resourceLimits: { maxOldGenerationSizeMb: 16, maxYoungGenerationSizeMb: 2 },
    });
    // Where it cannot run, what it watches goes on as before.
    watchdog.on('error', () => undefined);
    watchdog.unref();
  }
  watchdog.postMessage(message);
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
  sendOrder({ kind: 'begin', id, steps, at, limitMs, ends });
  return { next: () => void Atomics.add(at, 0, 1), end: () => sendOrder({ kind: 'end', id }) };
}

/** Ends this process soon after the one that supervises it has gone, also where the main thread is in a loop. */
export function endAsOrphan(supervisor: number): void {
  sendOrder({ kind: 'orphan', supervisor });
}
