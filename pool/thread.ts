import { EventEmitter } from 'node:events';
import { performance } from 'node:perf_hooks';
import { Piscina } from 'piscina';
import { LoadError } from './load-error.js';
import { type MemoryWatch, memoryBound, watchMemory } from './memory-watch.js';
import { importTimeoutMs, type PluginModule } from './plugin-module.js';
import { PoolError } from './pool-error.js';
import type { Task, TaskOutcome, WorkerReport, WorkerSettings } from './task.js';
import { readThrown } from './thrown.js';

/** One worker thread, from its start to its end. Another takes its place, it never comes back. */
export interface Thread {
  /**
   * Loads the engine, then the plugins as soon as they are known. Throws a `LoadError` where the thread is of no use.
   */
  load(): Promise<WorkerReport>;
  /** Runs a task. Throws a `PoolError`: `helper_timeout`, or `internal` where the thread died of it; it has ended then. */
  run(task: Task): Promise<TaskOutcome>;
  close(): Promise<void>;
}

export interface ThreadOptions {
  settings: WorkerSettings;
  /** Called when a task has ended, and the thread may have, too. */
  onFree: () => void;
  /** Called once, in the moment in which the thread can run nothing any more; `ofItself` where no task is to blame. */
  onEnd: (ofItself: boolean) => void;
  /** Told of what ended the thread, where no task is told. */
  onFault: (error: Error) => void;
}

/** What ends a task before its time. */
type Verdict = 'time' | 'memory';

/** A thread that blocks while it imports cannot say so: it has somewhat longer than one that waits. */
const loadLimitMs = importTimeoutMs + 10_000;

/**
 * A thread under a Piscina of its own. One Piscina of several threads would not tell which of them runs what, and starts
 * none any more once one has died while starting.
 */
export function createThread({ settings, onFree, onEnd, onFault }: ThreadOptions): Thread {
  const { plugins = [], ...workerData } = settings;
  const piscina = new Piscina({
    filename: new URL('./worker.js', import.meta.url).href,
    workerData,
    // The first task starts the thread; of a minimum Piscina would start the next one itself.
    minThreads: 0,
    maxThreads: 1,
    idleTimeout: Number.POSITIVE_INFINITY,
    concurrentTasksPerWorker: 1,
    // Without it a worker blocks between tasks, and what a plugin left running surfaces in somebody else's task.
    atomics: 'disabled',
    recordTiming: false,
    resourceLimits: { maxOldGenerationSizeMb: 512 },
  });
  /** By `abort` Piscina ends the worker of the task that runs. A signal would do, too, but costs each task a controller and its listeners. */
  const stop = new EventEmitter();
  let running = false;
  let verdict: Verdict | undefined;
  /** Begun anew by each task; where it goes off between two, nobody minds. */
  let deadline: NodeJS.Timeout | undefined;
  let watch: MemoryWatch | undefined;
  let ended = false;

  piscina.on('workerDestroy', () => end());
  piscina.on('error', onFault);

  function end(ofItself = !running): void {
    if (ended) return;
    ended = true;
    release();
    onEnd(ofItself);
    // What still waits for a worker that is no more would wait for ever.
    void piscina.destroy();
  }

  function release(): void {
    clearTimeout(deadline);
    watch?.stop();
  }

  function abort(why: Verdict): void {
    if (!running) return;
    verdict ??= why;
    stop.emit('abort');
  }

  function endForMemory(): void {
    if (running) abort('memory');
    else {
      onFault(new Error('a worker thread was ended for the memory that its tasks had left behind'));
      end(false);
    }
  }

  async function load(): Promise<WorkerReport> {
    const report: WorkerReport = await inTime('its engine', (signal) =>
      piscina.run(undefined, { name: 'report', signal }),
    );
    for (const module of await plugins) await loadPlugin(module);
    const [worker] = piscina.threads;
    if (!worker) throw new LoadError('a worker thread ended after it had loaded its plugins');
    watch = watchMemory(worker, {
      bound: memoryBound(report.engine, settings.limits),
      busy: () => running,
      onOver: endForMemory,
    });
    return report;
  }

  async function loadPlugin(module: PluginModule): Promise<void> {
    const { service } = module;
    const what = `the plugin ${service}`;
    const reason: string | undefined = await inTime(
      what,
      (signal) => piscina.run(module, { name: 'load', signal }),
      service,
    );
    if (reason !== undefined) {
      throw new LoadError(`a worker thread cannot load ${what}: ${reason}`, { service });
    }
  }

  function run(task: Task): Promise<TaskOutcome> {
    const began = performance.now();
    const source = task.kind === 'call' ? task.source : undefined;
    const transferList = source ? [source.buffer as ArrayBuffer] : [];
    running = true;
    verdict = undefined;
    // The port to the worker keeps the process alive while a task runs.
    deadline = deadline?.refresh() ?? setTimeout(abort, settings.taskTimeoutMs, 'time').unref();
    watch?.begin();
    return piscina.run(task, { signal: stop, transferList }).then(
      (outcome: TaskOutcome) => {
        free();
        return outcome;
      },
      (cause) => {
        free();
        throw failure(performance.now() - began, cause);
      },
    );
  }

  function free(): void {
    running = false;
    onFree();
  }

  function failure(ms: number, cause: unknown): PoolError {
    if (verdict === 'time') {
      return new PoolError('helper_timeout', 'the task ran past its time', { ms, cause });
    }
    const why =
      verdict === 'memory'
        ? 'the task ran past its memory outside the JavaScript heap'
        : 'the worker thread ended or its answer could not be sent';
    return new PoolError('internal', why, { ms, cause });
  }

  /** Asks the worker for what should not take long. Throws a `LoadError` that names what was loaded. */
  async function inTime<T>(
    what: string,
    ask: (signal: AbortSignal) => Promise<T>,
    service?: string,
  ): Promise<T> {
    const control = new AbortController();
    const timer = setTimeout(() => control.abort(), loadLimitMs);
    try {
      return await ask(control.signal);
    } catch (cause) {
      const late = control.signal.aborted ? ` for ${loadLimitMs} ms` : '';
      const how = ended ? `ended while it loaded ${what}${late}` : `cannot load ${what}`;
      throw new LoadError(`a worker thread ${how}: ${readThrown(cause).message}`, { service, cause });
    } finally {
      clearTimeout(timer);
    }
  }

  return {
    load,
    run,
    async close() {
      ended = true;
      release();
      await piscina.destroy();
    },
  };
}
