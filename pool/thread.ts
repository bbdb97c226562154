import { EventEmitter } from 'node:events';
import { performance } from 'node:perf_hooks';
import { Piscina } from 'piscina';
import type { TaskCall } from './context/task-host.js';
import { createThreadLink } from './context/thread-link.js';
import { createSharedBytes } from './external-memory.js';
import { LoadError } from './load-error.js';
import { type MemoryWatch, memoryBound, watchMemory } from './memory-watch.js';
import { ownBuffers } from './own-buffers.js';
import type { PluginModule } from './plugin-module.js';
import { PoolError } from './pool-error.js';
import type { CallTask, NumberedTask, Task, TaskOutcome, WorkerReport, WorkerSettings } from './task.js';
import { createTaskDeadline } from './task-deadline.js';
import { createThreadLoading, type LoadOptions } from './thread-loading.js';

/** One worker thread, from its start to its end. Another takes its place, it never comes back. */
export interface Thread {
  /**
   * Loads the engine, then the plugins as soon as they are known, and has them set up. Throws a `LoadError` where the thread is of no use.
   */
  load(options?: LoadOptions): Promise<WorkerReport>;
  /** Plugins that it could not load, by their urls, and why. It can run no calls of theirs. */
  readonly lacking: ReadonlyMap<string, LoadError>;
  /** Plugins that it has not loaded yet, by their urls. It can run calls of theirs after `prepare`. */
  readonly unloaded: ReadonlyMap<string, PluginModule>;
  /** Loads one of the `unloaded`; to be called while no task runs. Throws a `LoadError`. */
  prepare(url: string): Promise<void>;
  /** Runs a task. Throws a `PoolError`: `helper_timeout`, or `internal` where the thread died of it; it has ended then. */
  run(task: Task, call?: TaskCall): Promise<TaskOutcome>;
  /** Loads what its first tasks need and its start does not; a task that comes meanwhile waits. Where that fails the thread ends. */
  warm(): Promise<void>;
  close(): Promise<void>;
}

export interface ThreadOptions {
  settings: WorkerSettings;
  /** Milliseconds that each plugin's `setup` may take; any where absent. */
  setupLimitMs?: number | undefined;
  /** Called when a task has ended, and the thread may have, too. */
  onFree: () => void;
  /** Called once, in the moment in which the thread can run nothing any more; `ofItself` where no task is to blame. */
  onEnd: (ofItself: boolean) => void;
  /** Told of what ended the thread, where no task is told. */
  onFault: (error: Error) => void;
}

/** What ends a task before its time. */
type Verdict = 'time' | 'memory';

const noCall: TaskCall = {};
/** Of a task that judges an input. */
const noLimits: Pick<CallTask, 'timeoutMs'> = {};

/**
 * A thread under a Piscina of its own. One Piscina of several threads would not tell which of them runs what, and starts
 * none any more once one has died while starting.
 */
export function createThread({ settings, setupLimitMs, onFree, onEnd, onFault }: ThreadOptions): Thread {
  const { plugins = [], hooks = {}, ...workerData } = settings;
  const shared = createSharedBytes();
  const piscina = new Piscina({
    filename: new URL('./worker.js', import.meta.url).href,
    workerData: { ...workerData, shared },
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
  const link = createThreadLink(hooks.onLog);
  const loading = createThreadLoading(piscina, { hooks, hasEnded: () => ended, setupLimitMs });
  const deadline = createTaskDeadline({
    onTime: giveUp,
    onOver: () => abort('time'),
    isDebugged: hooks.isDebugged,
  });
  /** The number of the last task. */
  let number = 0;
  let running: Task | undefined;
  let verdict: Verdict | undefined;
  let watch: MemoryWatch | undefined;
  /** Settles when the thread has loaded what first tasks need: to wait for that is no task's time. */
  let warming: Promise<void> | undefined;
  let ended = false;
  let closing = false;

  piscina.on('workerDestroy', () => end());
  piscina.on('error', onFault);

  function end(ofItself = !running): void {
    if (ended || closing) return;
    ended = true;
    release();
    onEnd(ofItself);
    // What still waits for a worker that is no more would wait for ever.
    void piscina.destroy();
  }

  function release(): void {
    deadline.close();
    link.close();
    watch?.stop();
  }

  /** At the deadline. A handler may hear of it and end; an input's judgement cannot. */
  function giveUp(): boolean {
    if (!running) return false;
    verdict ??= 'time';
    if (running.kind === 'judge') abort('time');
    else link.abort('deadline');
    return running.kind === 'call';
  }

  function leave(): void {
    link.abort('gone');
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

  async function load(options?: LoadOptions): Promise<WorkerReport> {
    const report = await loading.engine(link.port);
    await loading.plugins(await plugins, options);
    const [worker] = piscina.threads;
    if (!worker) throw new LoadError('a worker thread ended after it had loaded its plugins');
    watch = watchMemory(worker, {
      bound: memoryBound(report.engine, settings.limits),
      busy: () => running !== undefined,
      onOver: endForMemory,
      shared,
    });
    return report;
  }

  async function warm(): Promise<void> {
    await loading.warm().catch((error) => {
      if (!ended && !closing) onFault(error);
      end(false);
    });
    warming = undefined;
  }

  function run(task: Task, call: TaskCall = noCall): Promise<TaskOutcome> {
    if (warming) return warming.then(() => run(task, call));
    const missing = task.kind === 'call' ? loading.missing(task.plugin) : undefined;
    if (missing === undefined) return runLoaded(task, call);
    return loading.plugin(missing).then(
      () => runLoaded(task, call),
      (error) => {
        onFree();
        throw error;
      },
    );
  }

  function runLoaded(task: Task, call: TaskCall): Promise<TaskOutcome> {
    const began = performance.now();
    const { timeoutMs } = task.kind === 'call' ? task : noLimits;
    const transferList = ownBuffers(task);
    running = task;
    verdict = undefined;
    number += 1;
    if (call !== noCall) call.onLeave = leave;
    link.begin(number, call.host);
    deadline.begin(timeoutMs ?? settings.taskTimeoutMs);
    watch?.begin();
    return piscina.run({ number, task } satisfies NumberedTask, { signal: stop, transferList }).then(
      (outcome: TaskOutcome) => {
        free();
        if (verdict !== 'time') return outcome;
        throw failure(performance.now() - began, outcome);
      },
      (cause) => {
        free();
        throw failure(performance.now() - began, cause);
      },
    );
  }

  function free(): void {
    running = undefined;
    deadline.end();
    link.end();
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

  return {
    load,
    lacking: loading.lacking,
    unloaded: loading.unloaded,
    async prepare(url) {
      const module = loading.unloaded.get(url);
      if (module) await loading.plugin(module);
    },
    run,
    warm: () => (warming ??= warm()),
    async close() {
      closing = true;
      if (!running) await loading.close();
      ended = true;
      release();
      await piscina.destroy();
    },
  };
}
