import { EventEmitter } from 'node:events';
import type { MessagePort, Worker } from 'node:worker_threads';
import { Piscina } from 'piscina';
import type { NumberedTask, TaskOutcome } from './task.js';

interface CallOptions {
  signal?: AbortSignal | undefined;
  transferList?: readonly MessagePort[];
}

/** One worker thread, as Piscina runs it. */
export interface PiscinaWorker {
  /** Calls a function that the worker's module exports by this name. */
  call<T>(name: string, argument?: unknown, options?: CallOptions): Promise<T>;
  /** Calls its default export. */
  run(task: NumberedTask, transferList: readonly ArrayBuffer[]): Promise<TaskOutcome>;
  /** Ends the thread in the middle of `run`, which rejects. */
  abort(): void;
  /** Undefined before the first call, and after the thread's end. */
  worker(): Worker | undefined;
  destroy(): Promise<void>;
}

interface PiscinaWorkerOptions {
  workerData: object;
  onEnd: () => void;
  onError: (error: Error) => void;
}

/**
 * The one place that works around Piscina 5.3:
 * - Each thread has a Piscina of its own. One of several threads would not show which of them runs what, and starts none any more
 *   once one has died while starting.
 * - The first call starts the thread: of a minimum of threads Piscina would start the next one itself.
 * - `atomics` would block the thread between tasks, and what a plugin left running would surface in the next task.
 * - One emitter aborts all tasks: an AbortSignal would do, but costs each task a controller and its listeners.
 * - Calls that wait for a worker that has ended would wait for ever: `onEnd` must lead to `destroy`.
 * - Of a thrown error only the message arrives: the worker's functions return failures as data.
 */
export function startPiscina({ workerData, onEnd, onError }: PiscinaWorkerOptions): PiscinaWorker {
  const piscina = new Piscina({
    filename: new URL('./worker.js', import.meta.url).href,
    workerData,
    minThreads: 0,
    maxThreads: 1,
    idleTimeout: Number.POSITIVE_INFINITY,
    concurrentTasksPerWorker: 1,
    atomics: 'disabled',
    recordTiming: false,
    resourceLimits: { maxOldGenerationSizeMb: 512 },
  });
  const stop = new EventEmitter();
  piscina.on('workerDestroy', onEnd);
  piscina.on('error', onError);
  return {
    call: (name, argument, { signal, transferList = [] } = {}) =>
      piscina.run(argument, { name, transferList: [...transferList], ...(signal && { signal }) }),
    run: (task, transferList) => piscina.run(task, { signal: stop, transferList: [...transferList] }),
    abort: () => stop.emit('abort'),
    worker: () => piscina.threads[0],
    destroy: () => piscina.destroy(),
  };
}
