import { EventEmitter } from 'node:events';
import { performance } from 'node:perf_hooks';
import type { MessagePort } from 'node:worker_threads';
import { Piscina } from 'piscina';
import { createThreadLink } from './context/link.js';
import type { TaskCall } from './context/messages.js';
import { PoolError, readThrown } from './errors.js';
import { LoadError } from './load-faults.js';
import { createSharedBytes, type MemoryWatch, memoryBound, watchMemory } from './memory.js';
import { fileOf, importTimeoutMs, type PluginModule } from './plugin.js';
import type {
  CallTask,
  NumberedTask,
  Task,
  TaskOutcome,
  ThreadHooks,
  WorkerReport,
  WorkerSettings,
} from './task.js';
import { createTaskDeadline } from './time-limits.js';

/** The memory of a task that may be moved to its thread, which makes no copy: that of its files, but for what others use as well. */
function transferableBuffers(task: Task): ArrayBuffer[] {
  const files = task.kind === 'call' ? Object.values(task.files ?? {}) : [];
  return files.flatMap(({ bytes, shared }) => (shared ? [] : [bytes.buffer as ArrayBuffer]));
}

/** Asks a worker to load what it needs. Each throws a `LoadError` where the thread is of no use. */
interface ThreadLoading {
  /** The engine. The worker gets its end of the link first. */
  engine(port: MessagePort): Promise<WorkerReport>;
  /** Imports a plugin and runs its `setup`. What fails of the `unloaded` is `lacking` from then on. */
  plugin(module: PluginModule): Promise<void>;
  /** Does so with each. Throws the error of the one with which the thread is of no use. */
  plugins(modules: readonly PluginModule[], options?: LoadOptions): Promise<void>;
  /** What could not be loaded, by its url: this thread will never have it. */
  readonly lacking: ReadonlyMap<string, LoadError>;
  /** What is loaded when it is first needed, by its url. */
  readonly unloaded: ReadonlyMap<string, PluginModule>;
  /** The plugin of this url, where a task has to wait for it. */
  missing(url: string): PluginModule | undefined;
  /** What first tasks need and a start does not. */
  warm(): Promise<void>;
  /** Tells what plugins have set up that the thread is to end; resolves when they have heard it. */
  close(): Promise<void>;
}

/** How much of what is to be loaded a thread may lack. */
export interface LoadOptions {
  /** It is of use where it lacks fewer plugins than that; by default where it lacks none. */
  lacksBelow?: number;
  /** What was lacking before, by its url: it is tried first. */
  first?: ReadonlyMap<string, LoadError>;
  /** Loads each plugin when it is first needed, not now. */
  bare?: boolean;
}

interface ThreadLoadingOptions {
  hooks: ThreadHooks;
  /** Whether the thread has ended. */
  hasEnded: () => boolean;
  /** Milliseconds that a `setup` may take; any where absent. */
  setupLimitMs?: number | undefined;
}

/** A thread that blocks while it imports cannot say so: it has somewhat longer than one that waits. */
const loadLimitMs = importTimeoutMs + 10_000;
/** After so long a start says what it waits for. */
const slowMs = 10_000;
/** A thread that is blocked hears nothing. */
const closeLimitMs = 1_000;

function createThreadLoading(
  piscina: Piscina,
  { hooks, hasEnded, setupLimitMs }: ThreadLoadingOptions,
): ThreadLoading {
  const loaded = new Set<string>();
  const lacking = new Map<string, LoadError>();
  const unloaded = new Map<string, PluginModule>();
  let hasState = false;

  /** Asks for what should not take long. Throws a `LoadError` that names what was loaded. */
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
      const how = hasEnded() ? `ended while it loaded ${what}${late}` : `cannot load ${what}`;
      const endsThread = hasEnded() || late !== '';
      throw new LoadError(`a worker thread ${how}: ${readThrown(cause).message}`, {
        service,
        endsThread,
        cause,
      });
    } finally {
      clearTimeout(timer);
    }
  }

  async function setUp(module: PluginModule): Promise<void> {
    const { service, url } = module;
    const timer = setTimeout(() => hooks.onSlowSetup?.(module), slowMs).unref();
    const limit = new AbortController();
    const end = setupLimitMs === undefined ? undefined : setTimeout(() => limit.abort(), setupLimitMs);
    try {
      hasState = true;
      const reason: string | undefined = await piscina.run(url, { name: 'prepare', signal: limit.signal });
      if (reason !== undefined) throw new Error(reason);
    } catch (cause) {
      const { message } = readThrown(cause);
      const ended = hasEnded() ? `its setup ended the thread: ${message}` : message;
      const how = limit.signal.aborted ? `its setup did not settle within ${setupLimitMs} ms` : ended;
      const endsThread = hasEnded() || limit.signal.aborted;
      throw new LoadError(`${fileOf(url)}: ${how}`, { service, inSetup: true, endsThread });
    } finally {
      clearTimeout(timer);
      clearTimeout(end);
    }
  }

  async function load(module: PluginModule): Promise<void> {
    const { service, url } = module;
    const what = `the plugin ${service}`;
    const reason: string | undefined = await inTime(
      what,
      (signal) => piscina.run(module, { name: 'load', signal }),
      service,
    );
    if (reason !== undefined) {
      throw new LoadError(`a worker thread cannot load ${what}: ${reason}`, { service });
    }
    if (module.setup) await setUp(module);
    loaded.add(url);
  }

  async function loadLate(module: PluginModule): Promise<void> {
    try {
      await load(module);
    } catch (error) {
      if (unloaded.has(module.url)) lacking.set(module.url, asLoadError(error));
      throw error;
    } finally {
      unloaded.delete(module.url);
    }
  }

  return {
    engine: (port) =>
      inTime('its engine', (signal) =>
        piscina.run({ port }, { name: 'report', signal, transferList: [port] }),
      ),
    plugin: loadLate,
    lacking,
    unloaded,
    async plugins(modules, { lacksBelow = 1, first, bare = false } = {}) {
      if (bare) {
        for (const module of modules) unloaded.set(module.url, module);
        return;
      }
      const isFirst = ({ url }: PluginModule) => first?.has(url) === true;
      const inOrder = [...modules.filter(isFirst), ...modules.filter((each) => !isFirst(each))];
      for (const module of inOrder) {
        const error = await load(module).then(() => undefined, asLoadError);
        if (!error) continue;
        lacking.set(module.url, error);
        if (error.endsThread || lacking.size >= lacksBelow) throw error;
      }
    },
    missing: (url) => (hooks.onDemand && !loaded.has(url) ? hooks.onDemand(url) : undefined),
    // Node keeps a failed import for good, and such a thread would fail these tasks as long as it lives.
    warm: () => inTime('what first tasks need', (signal) => piscina.run(undefined, { name: 'warm', signal })),
    async close() {
      if (!hasState || hasEnded()) return;
      const limit = AbortSignal.timeout(closeLimitMs);
      await piscina.run(undefined, { name: 'close', signal: limit }).catch(() => undefined);
    },
  };
}

/** Any other is a fault of this code. */
function asLoadError(thrown: unknown): LoadError {
  if (thrown instanceof LoadError) return thrown;
  throw thrown;
}

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

interface ThreadOptions {
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
type EndReason = 'time' | 'memory';

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
  let verdict: EndReason | undefined;
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

  function abort(why: EndReason): void {
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
    const transferList = transferableBuffers(task);
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
