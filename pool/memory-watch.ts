import { setTimeout as sleep } from 'node:timers/promises';
import type { Worker } from 'node:worker_threads';
import { createMemoryProbe, type SharedBytes } from './external-memory.js';
import type { ImageLimits } from './image/engine.js';
import type { WorkerReport } from './task.js';

const everyMs = 50;
/** How long an answer is waited for, in milliseconds, before the thread is asked again. */
const patienceMs = 1_000;
const probe = createMemoryProbe();

/** Bytes outside the heap, by pixel of the largest picture: sharp decodes in memory of its own, Jimp in several Buffers. */
const perPixel = { sharp: 16, jimp: 40 };

/**
 * Bytes outside the JavaScript heap past which a thread is ended: half a GB, which V8 may leave uncollected, and room for the
 * largest picture. Measured at 40 M pixels: 0.55 GB with sharp from a JPEG, at most 1.4 GB with Jimp over its formats.
 */
export function memoryBound(engine: WorkerReport['engine'], { maxPixels }: ImageLimits): number {
  return 512 * 2 ** 20 + maxPixels * perPixel[engine];
}

export interface MemoryWatch {
  /** Looks in a moment, and again as long as `busy`. */
  begin(): void;
  stop(): void;
}

export interface MemoryWatchOptions {
  bound: number;
  busy: () => boolean;
  onOver: () => void;
  /** What the thread counts itself. */
  shared: SharedBytes;
}

/**
 * Watches a thread for memory that no limit of V8's holds. It looks every 50 ms, which a thread can outrun by what it
 * fills in that time, about a hundred megabytes; it looks once more after a task, for what tasks leave behind.
 */
export function watchMemory(
  worker: Worker,
  { bound, busy, onOver, shared }: MemoryWatchOptions,
): MemoryWatch {
  let timer: NodeJS.Timeout | undefined;
  let stopped = false;

  function begin(): void {
    timer ??= setTimeout(look, everyMs).unref();
  }

  async function look(): Promise<void> {
    const late = sleep(patienceMs, undefined, { ref: false });
    const bytes = await Promise.race([probe(worker), late]);
    timer = undefined;
    if (stopped) return;
    // Some questions are never answered, such as one to a thread that is just starting: without another the watch would be over.
    if (bytes === undefined) begin();
    else if (bytes + (shared[0] ?? 0) > bound) onOver();
    else if (busy()) begin();
  }

  function stop(): void {
    stopped = true;
    clearTimeout(timer);
  }

  return { begin, stop };
}
