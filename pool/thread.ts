import { EventEmitter } from 'node:events';
import { performance } from 'node:perf_hooks';
import { fileURLToPath } from 'node:url';
import type { MessagePort, Worker } from 'node:worker_threads';
import { Piscina } from 'piscina';
import { createThreadLink } from './context/handler-context.js';
import type { TaskCall } from './context/messages.js';
import { PoolError, readThrown } from './errors.js';
import { LoadError } from './load-faults.js';
import { importTimeoutMs, type PluginModule } from './plugin.js';
import {
  type NumberedTask,
  pluginsOf,
  type Task,
  type TaskOutcome,
  type WorkerReport,
  type WorkerSettings,
} from './task.js';
import {
  createSharedBytes,
  createTaskDeadline,
  type MemoryWatch,
  memoryBound,
  watchMemory,
} from './task-limits.js';

/** How much of what is to be loaded a thread may lack. */
export interface LoadOptions {
  /** It is of use where it lacks fewer plugins than that; by default where it lacks none. */
  lacksBelow?: number;
  /** What was lacking before, by its url: it is tried first. */
  first?: ReadonlyMap<string, LoadError> | undefined;
  /** Loads each plugin when it is first needed, not now. */
  bare?: boolean;
}

export type Thread = ReturnType<typeof createThread>;

interface ThreadOptions {
  settings: WorkerSettings;
  /** Milliseconds that each plugin's `setup` may take; any where absent. */
  setupLimitMs?: number | undefined;
  /** Called when a task has ended, and the thread may have, too. */
  onFree: () => void;
  /** Called once, in the moment in which the thread can run nothing any more; `ofItself` where no task is to blame. */
  onEnd: (ofItself: boolean) => void;
  /** Called with what ended the thread, where no task failed for it. */
  onFault: (error: Error) => void;
}

/** What ends a task early. */
type EndReason = 'time' | 'memory';

const noCall: TaskCall = {};

/** A thread that blocks while it imports cannot say so: it has somewhat longer than one that waits. */
const loadLimitMs = importTimeoutMs + 10_000;
/** After so long a start says what it waits for. */
const slowMs = 10_000;
/** A thread that is blocked hears nothing. */
const closeLimitMs = 1_000;

/** One worker thread, from its start to its end. Another replaces it, it never comes back. */
export function createThread({ settings, setupLimitMs, onFree, onEnd, onFault }: ThreadOptions) {
  const { plugins = [], hooks = {}, ...data } = settings;
  const shared = createSharedBytes();
  const worker = startPiscina({ ...data, shared }, () => end(), onFault);
  const link = createThreadLink(hooks.onLog);
  const deadline = createTaskDeadline({ onTime: giveUp, onOver: () => abort('time') });
  const loaded = new Set<string>();
  const lacking = new Map<string, LoadError>();
  const unloaded = new Map<string, PluginModule>();
  /** Whether a plugin may have set something up that is to be closed. */
  let hasState = false;
  /** The number of the last task. */
  let number = 0;
  let running: Task | undefined;
  let endReason: EndReason | undefined;
  let watch: MemoryWatch | undefined;
  /** While the thread loads what first tasks need: waiting for that is no task's time. */
  let warming: Promise<void> | undefined;
  let ended = false;
  let closing = false;
  const onLeave = () => link.abort('gone');

  function end(ofItself = !running): void {
    if (ended || closing) return;
    ended = true;
    release();
    onEnd(ofItself);
    void worker.destroy();
  }

  function release(): void {
    deadline.close();
    link.close();
    watch?.stop();
  }

  /** At the deadline. A handler is notified, and may end by itself; the validation of an input cannot. */
  function giveUp(): boolean {
    if (!running) return false;
    endReason ??= 'time';
    if (running.kind === 'validate') abort('time');
    else link.abort('deadline');
    return running.kind === 'call';
  }

  function abort(why: EndReason): void {
    if (!running) return;
    endReason ??= why;
    worker.abort();
  }

  function endForMemory(): void {
    if (running) abort('memory');
    else {
      onFault(new Error('a worker thread was ended for the memory that its tasks had left behind'));
      end(false);
    }
  }

  /** Calls a function of the worker that should not take long. Throws a `LoadError` that names what was loaded. */
  async function callInTime<T>(
    name: string,
    argument: unknown,
    { what, service, transferList = [] }: { what: string; service?: string; transferList?: MessagePort[] },
  ): Promise<T> {
    const signal = AbortSignal.timeout(loadLimitMs);
    try {
      return await worker.call<T>(name, argument, { signal, transferList });
    } catch (cause) {
      const late = signal.aborted ? ` for ${loadLimitMs} ms` : '';
      const how = ended ? `ended while it loaded ${what}${late}` : `cannot load ${what}`;
      const message = `a worker thread ${how}: ${readThrown(cause).message}`;
      throw new LoadError(message, { service, endsThread: ended || signal.aborted, cause });
    }
  }

  /** Loads the engine, then the plugins as soon as they are known, and has them set up. Throws a `LoadError` where the thread is of no use. */
  async function load(options?: LoadOptions): Promise<WorkerReport> {
    const transferList = [link.port];
    const report = await callInTime<WorkerReport>('report', link.port, { what: 'its engine', transferList });
    await loadAll(await plugins, options);
    const thread = worker.worker();
    if (!thread) throw new LoadError('a worker thread ended after it had loaded its plugins');
    watch = watchMemory(thread, {
      bound: memoryBound(report.engine, settings.limits),
      busy: () => running !== undefined,
      onOver: endForMemory,
      shared,
    });
    return report;
  }

  /** Throws the error of the plugin with which the thread is of no use. */
  async function loadAll(
    modules: readonly PluginModule[],
    { lacksBelow = 1, first, bare = false }: LoadOptions = {},
  ): Promise<void> {
    if (bare) {
      for (const module of modules) unloaded.set(module.url, module);
      return;
    }
    const isFirst = ({ url }: PluginModule) => Number(first?.has(url) ?? false);
    for (const module of [...modules].sort((a, b) => isFirst(b) - isFirst(a))) {
      const error = await loadPlugin(module).then(() => undefined, asLoadError);
      if (!error) continue;
      lacking.set(module.url, error);
      if (error.endsThread || lacking.size >= lacksBelow) throw error;
    }
  }

  async function loadPlugin(module: PluginModule): Promise<void> {
    const { service, url } = module;
    const what = `the plugin ${service}`;
    const reason = await callInTime<string | undefined>('load', module, { what, service });
    if (reason !== undefined) {
      throw new LoadError(`a worker thread cannot load ${what}: ${reason}`, { service });
    }
    if (module.setup) await setUp(module);
    loaded.add(url);
  }

  async function setUp(module: PluginModule): Promise<void> {
    const { service, url } = module;
    const timer = setTimeout(() => hooks.onSlowSetup?.(module), slowMs).unref();
    const signal = setupLimitMs === undefined ? null : AbortSignal.timeout(setupLimitMs);
    try {
      hasState = true;
      const reason = await worker.call<string | undefined>('prepare', url, { signal });
      if (reason !== undefined) throw new Error(reason);
    } catch (cause) {
      const { message } = readThrown(cause);
      const own = ended ? `its setup ended the thread: ${message}` : message;
      const how = signal?.aborted ? `its setup did not settle within ${setupLimitMs} ms` : own;
      const endsThread = ended || signal?.aborted === true;
      throw new LoadError(`${fileURLToPath(url)}: ${how}`, { service, inSetup: true, endsThread });
    } finally {
      clearTimeout(timer);
    }
  }

  async function loadLate(module: PluginModule): Promise<void> {
    try {
      await loadPlugin(module);
    } catch (error) {
      if (unloaded.has(module.url)) lacking.set(module.url, asLoadError(error));
      throw error;
    } finally {
      unloaded.delete(module.url);
    }
  }

  async function loadEach(modules: readonly PluginModule[]): Promise<void> {
    for (const module of modules) await loadLate(module);
  }

  async function warm(): Promise<void> {
    // Node keeps a failed import for good, and such a thread would fail these tasks as long as it lives.
    await callInTime('warm', undefined, { what: 'what first tasks need' }).catch((error) => {
      if (!ended && !closing) onFault(error);
      end(false);
    });
    warming = undefined;
  }

  /** Runs a task. Throws a `PoolError`: `helper_timeout`, or `internal` where the thread died of it; it has ended then. */
  function run(task: Task, call: TaskCall = noCall): Promise<TaskOutcome> {
    if (warming) return warming.then(() => run(task, call));
    const missing = hooks.onDemand ? pluginsOf(task).filter((url) => !loaded.has(url)) : [];
    const onDemand = missing.flatMap((url) => hooks.onDemand?.(url) ?? []);
    if (onDemand.length === 0) return runLoaded(task, call);
    return loadEach(onDemand).then(
      () => runLoaded(task, call),
      (error) => {
        onFree();
        throw error;
      },
    );
  }

  function runLoaded(task: Task, call: TaskCall): Promise<TaskOutcome> {
    const began = performance.now();
    const timeoutMs = task.kind === 'call' ? task.timeoutMs : undefined;
    running = task;
    endReason = undefined;
    number += 1;
    if (call !== noCall) call.onLeave = onLeave;
    link.begin(number, call.host);
    deadline.begin(timeoutMs ?? settings.taskTimeoutMs);
    watch?.begin();
    return worker.run({ number, task }, transferableBuffers(task)).then(
      (outcome) => {
        free();
        if (endReason !== 'time') return outcome;
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
    if (endReason === 'time') {
      return new PoolError('helper_timeout', 'the task ran past its time', { ms, cause });
    }
    const why =
      endReason === 'memory'
        ? 'the task ran past its memory outside the JavaScript heap'
        : 'the worker thread ended or its answer could not be sent';
    return new PoolError('internal', why, { ms, cause });
  }

  return {
    load,
    /** Plugins that it could not load, by their urls, and why. It can run no calls of theirs. */
    lacking: lacking as ReadonlyMap<string, LoadError>,
    /** Plugins that it has not loaded yet, by their urls. It can run calls of theirs after `prepare`. */
    unloaded: unloaded as ReadonlyMap<string, PluginModule>,
    /** Loads one of the `unloaded`; to be called while no task runs. Throws a `LoadError`. */
    async prepare(url: string): Promise<void> {
      const module = unloaded.get(url);
      if (module) await loadLate(module);
    },
    run,
    /** Loads what its first tasks need and its start does not; a task that comes meanwhile waits. Where that fails the thread ends. */
    warm: () => (warming ??= warm()),
    async close(): Promise<void> {
      closing = true;
      if (!running && hasState && !ended) {
        const signal = AbortSignal.timeout(closeLimitMs);
        await worker.call('close', undefined, { signal }).catch(() => undefined);
      }
      ended = true;
      release();
      await worker.destroy();
    },
  };
}

/** Any other is a fault of this code. */
function asLoadError(thrown: unknown): LoadError {
  if (thrown instanceof LoadError) return thrown;
  throw thrown;
}

/** The memory of a task that may be moved to its thread, which makes no copy: that of its files, but for what others use as well. */
function transferableBuffers(task: Task): ArrayBuffer[] {
  const files = task.kind === 'call' ? Object.values(task.files ?? {}) : [];
  return files.flatMap(({ bytes, shared }) => (shared ? [] : [bytes.buffer as ArrayBuffer]));
}

interface CallOptions {
  signal?: AbortSignal | null;
  transferList?: MessagePort[];
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
function startPiscina(workerData: object, onEnd: () => void, onError: (error: Error) => void) {
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
    /** Calls a function that the worker's module exports by this name. */
    call<T>(name: string, argument?: unknown, { signal = null, transferList = [] }: CallOptions = {}) {
      return piscina.run(argument, { name, signal, transferList }) as Promise<T>;
    },
    /** Calls its default export. */
    run: (task: NumberedTask, transferList: ArrayBuffer[]) =>
      piscina.run(task, { signal: stop, transferList }) as Promise<TaskOutcome>,
    /** Ends the thread in the middle of `run`, which rejects. */
    abort: () => stop.emit('abort'),
    /** Undefined before the first call, and after the thread's end. */
    worker: (): Worker | undefined => piscina.threads[0],
    destroy: () => piscina.destroy(),
  };
}
