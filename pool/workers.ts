import { setTimeout as sleep } from 'node:timers/promises';
import type { TaskCall } from './context/messages.js';
import { PoolError } from './errors.js';
import { firstPauseMs, LoadError, LoadFaults, RetryPacing } from './load-faults.js';
import { pluginsOf, type Task, type TaskOutcome, type WorkerReport, type WorkerSettings } from './task.js';
import { createThread, type LoadOptions, type Thread } from './thread.js';

/** The threads that can run tasks. */
class ReadyThreads {
  readonly #close: (thread: Thread) => Promise<void>;
  readonly #all = new Set<Thread>();
  readonly #idle: Thread[] = [];

  /** `close` ends a thread that was dismissed. */
  constructor(close: (thread: Thread) => Promise<void>) {
    this.#close = close;
  }

  /** Busy ones included. */
  get all(): Thread[] {
    return [...this.#all];
  }

  get size(): number {
    return this.#all.size;
  }

  get idle(): number {
    return this.#idle.length;
  }

  add(thread: Thread): void {
    this.#all.add(thread);
    this.#idle.push(thread);
  }

  /** Removes a thread, and closes it once it has no task. */
  dismiss(thread: Thread): void {
    if (this.#all.delete(thread) && removeFrom(this.#idle, thread)) void this.#close(thread);
  }

  /** A task of this thread has ended. */
  free(thread: Thread): void {
    if (this.#all.has(thread)) this.#idle.push(thread);
    else void this.#close(thread);
  }

  /** False where it was not one of these. */
  remove(thread: Thread): boolean {
    removeFrom(this.#idle, thread);
    return this.#all.delete(thread);
  }

  /** Whether any can run the task, be it busy. */
  canEverRun(task: Task): boolean {
    return this.all.some((thread) => canRun(thread, task));
  }

  /** Whether an idle one can. */
  isFree(task: Task): boolean {
    return this.#idle.some((thread) => canRun(thread, task));
  }

  /** Removes and returns an idle one that can run the task: the last that was used, whose caches are warm. */
  acquire(task: Task): Thread | undefined {
    const thread = this.#idle.findLast((each) => canRun(each, task));
    if (thread) removeFrom(this.#idle, thread);
    return thread;
  }

  /** An idle one that could load the plugin of this url. */
  couldLoad(url: string): Thread | undefined {
    return this.#idle.find(({ unloaded }) => unloaded.has(url));
  }
}

function canRun({ lacking, unloaded }: Thread, task: Task): boolean {
  return !pluginsOf(task).some((url) => lacking.has(url) || unloaded.has(url));
}

export interface WorkersOptions {
  /** At least one. */
  count: number;
  settings: WorkerSettings;
  /** Threads that are kept ready beside these, so that one that has loaded everything replaces one that ends. */
  spares?: number | undefined;
  /** Called whenever a thread has become ready, and when a task that waits may be one of those that are refused now. */
  onChange: () => void;
  /** Called with a fault that belongs to no task. */
  onFault: (error: Error) => void;
  /** Milliseconds that a `setup` may take in a thread that replaces another, by the longest that a thread has loaded for so far. */
  setupLimit?: (longestLoadMs: number) => number;
}

export type Workers = ReturnType<typeof createWorkers>;

/** Tries that a thread has at the start: enough for a passing fault, such as too many open files. */
const startAttempts = 4;
/** What was slow once may be slower again, but not endlessly. */
const patientLimit = (longestLoadMs: number) => Math.max(60_000, 10 * longestLoadMs);
/** A thread that loads a plugin for a task for longer than this is replaced meanwhile. */
const slowLoadMs = 250;
/** Spare threads are started so long after the first task: the calls that come with it go first. */
const spareAfterMs = 1_000;

/**
 * Keeps `count` worker threads ready, without a queue, and `spares` besides. One that ends is replaced by a spare one. Where there is
 * none, a bare thread serves at once and loads each plugin with its first task; threads that load everything then replace it.
 */
export function createWorkers(options: WorkersOptions) {
  const { count, settings, spares = 0, onChange, onFault, setupLimit = patientLimit } = options;
  const opened = new Set<Thread>();
  const ready = new ReadyThreads(close);
  /** Spare threads. */
  const reserve: Thread[] = [];
  const faults = new LoadFaults();
  const pacing = new RetryPacing();
  const closing = new AbortController();
  /** Plugins that are being loaded for a task, by their urls. */
  const wanted = new Set<string>();
  /** Bare threads that are starting. */
  let opening = 0;
  let replenishing = false;
  /** Threads that the start did not wait for. */
  let later = 0;
  let hasRun = false;
  /** Spare threads that are wanted now: none before the first task. */
  let reserved = 0;
  /** What the last thread that was to load everything could not load. */
  let lastLacking: Thread['lacking'] | undefined;
  let report: WorkerReport | undefined;
  let longestLoadMs = 0;
  /** When it became known what is to be loaded: a thread may be started long before. */
  let knownSince = 0;
  const notePlugins = () => {
    knownSince = Date.now();
  };
  // Each thread that awaits them handles the rejection, which must not end the process before that.
  settings.plugins?.then(notePlugins, () => undefined);

  /** Starts a thread and has it load; `error` is why it is of no use, and it is closed then. Throws where no thread ever could. */
  async function open({ isStart = false, ...how }: LoadOptions & { isStart?: boolean }) {
    closing.signal.throwIfAborted();
    const began = Date.now();
    const thread: Thread = createThread({
      settings,
      // A start waits, and the log says for what. Later, what never settles would cost the thread for good.
      setupLimitMs: isStart ? undefined : setupLimit(longestLoadMs),
      onFree: () => ready.free(thread),
      onEnd: (ofItself) => lost(thread, ofItself),
      onFault,
    });
    opened.add(thread);
    try {
      const found = await thread.load(how);
      report ??= found;
      // The engine may have been out of reach for a moment: a picture must not depend on the thread that it meets.
      if (found.engine !== report.engine) throw new LoadError(`a worker thread found only ${found.engine}`);
    } catch (error) {
      await close(thread);
      // Any other error: which plugins there are will never be known.
      if (!(error instanceof LoadError) || closing.signal.aborted) throw error;
      return { thread, error };
    }
    if (!how.bare) longestLoadMs = Math.max(longestLoadMs, Date.now() - Math.max(began, knownSince));
    return { thread };
  }

  async function close(thread: Thread): Promise<void> {
    await thread.close();
    opened.delete(thread);
  }

  /** Starts a thread that loads everything, in several tries. Throws a `LoadError`. */
  async function startOne(): Promise<void> {
    for (let tried = 1; ; tried += 1) {
      const { thread, error } = await open({ isStart: true });
      if (!error) return put(thread);
      note(thread.lacking);
      // A failed setup ends the start at once: a second try would run it twice.
      if (tried >= startAttempts || error.inSetup) throw error;
      onFault(error);
      await sleep(firstPauseMs * 2 ** (tried - 1), undefined, { signal: closing.signal });
    }
  }

  /** A thread has ended. */
  function lost(thread: Thread, ofItself: boolean): void {
    opened.delete(thread);
    const wasSpare = removeFrom(reserve, thread);
    // While it is loading, whatever awaits that handles it.
    if (!ready.remove(thread) && !wasSpare) return;
    if (ofItself) onFault(new Error('a worker thread ended while it had no task'));
    if (ofItself || wasSpare) pacing.fail();
    fill();
    // A bare thread, for which calls wait, comes first.
    if (opening === 0) void replenish();
  }

  /** Starts what is missing, at once where there is a spare thread. */
  function fill(): void {
    while (ready.size + opening < count && !closing.signal.aborted) {
      const spare = reserve.pop();
      if (spare) {
        ready.add(spare);
        onChange();
      } else {
        opening += 1;
        void openBare();
      }
    }
  }

  async function openBare(): Promise<void> {
    try {
      for (;;) {
        const { thread, error } = await open({ bare: true });
        if (!error) {
          opening -= 1;
          put(thread);
          return void replenish();
        }
        onFault(error);
        pacing.fail();
        note(undefined);
        await pacing.rest(closing.signal);
      }
    } catch (error) {
      // Which plugins there are is unknown, or the pool is closing.
      opening -= 1;
      if (!closing.signal.aborted) onFault(error as Error);
    }
  }

  /** Whether each thread is ready and has loaded everything. */
  function isWhole(): boolean {
    return ready.all.filter((thread) => unfit(thread) === 0).length >= count;
  }

  /** Starts threads that load everything, one after another, until each ready one has, and there are spare ones. */
  async function replenish(): Promise<void> {
    if (replenishing) return;
    replenishing = true;
    try {
      while (!isWhole() || reserve.length < reserved) {
        if (pacing.mustRest) await pacing.rest(closing.signal);
        // What a spare thread lacks affects no call while each ready thread has all.
        const isMissed = !isWhole();
        const lacked = isMissed ? lastLacking : undefined;
        const lacksBelow = lacked?.size ?? Number.POSITIVE_INFINITY;
        const { thread, error } = await open({ lacksBelow, first: lacked });
        if (!error && later > 0) {
          later -= 1;
          await thread.warm();
        }
        if (!error && opened.has(thread)) put(thread);
        lastLacking = thread.lacking.size > 0 ? thread.lacking : undefined;
        if (!error && !lastLacking) continue;
        for (const each of error ? [error] : thread.lacking.values()) onFault(each);
        pacing.fail();
        if (isMissed) note(thread.lacking, error?.endsThread);
      }
    } catch (error) {
      if (!closing.signal.aborted) onFault(error as Error);
    } finally {
      replenishing = false;
    }
  }

  /** Starts the spare threads after a first task: only tasks cost threads, and many processes never run one. */
  function reserveSoon(): void {
    hasRun = true;
    if (spares === 0) return;
    setTimeout(() => {
      reserved = spares;
      void replenish();
    }, spareAfterMs).unref();
  }

  /** Puts a thread to work: where one is missing, in the place of one that has loaded less, or among the spare ones. */
  function put(thread: Thread): void {
    const least = [...ready.all].sort((a, b) => unfit(b) - unfit(a))[0];
    if (ready.size < count) ready.add(thread);
    else if (least && unfit(least) > unfit(thread)) {
      ready.add(thread);
      ready.dismiss(least);
    } else if (reserve.length < spares && thread.unloaded.size === 0) {
      reserve.push(thread);
      void thread.warm();
    } else void close(thread);
    if (unfit(thread) === 0) faults.clear();
    onChange();
  }

  /** Has calls refused that would wait for long. */
  function note(lacking: Thread['lacking'] | undefined, isGrave = false): void {
    const isDoubtful = isGrave || pacing.isDoubtful;
    faults.note(lacking?.size ? lacking : undefined, Date.now() + pacing.pauseMs, isDoubtful);
    onChange();
  }

  /** Has an idle thread load the plugin of a task, where none has done so that is free. Calls `onChange` when it has. */
  function prepare(task: Task): void {
    const urls = pluginsOf(task);
    if (urls.some((each) => wanted.has(each) || faults.has(each))) return;
    const [found] = urls.flatMap((url) => {
      const thread = ready.couldLoad(url);
      return thread ? [{ url, thread }] : [];
    });
    if (!found) return;
    const { url, thread } = found;
    wanted.add(url);
    ready.remove(thread);
    const isMissed = setTimeout(fill, slowLoadMs).unref();
    thread
      .prepare(url)
      .catch((error: LoadError) => {
        onFault(error);
        pacing.fail();
        note(new Map([[url, error]]), error.endsThread);
        return error.endsThread;
      })
      .then((hasEnded) => {
        clearTimeout(isMissed);
        wanted.delete(url);
        if (hasEnded) void close(thread);
        else put(thread);
        fill();
        onChange();
        void replenish();
      });
  }

  return {
    /**
     * Waits until so many threads, by default all, have loaded engine and plugins, and gives their report. Throws where one cannot. The
     * others are started by `warm`.
     */
    async start(needed = count): Promise<WorkerReport> {
      later = count - needed;
      await Promise.all(Array.from({ length: needed }, startOne));
      if (!report) throw new Error('threads were started that have reported nothing');
      return report;
    },
    /** Threads that can run a task, busy ones included; one that is being replaced does not count. */
    ready: () => Math.min(count, ready.size + wanted.size),
    /** Whether no thread is being replaced. */
    isFull: () => ready.size >= count,
    /** Of those that are ready, how many have no task. */
    idle: () => ready.idle,
    /** Threads beside these that have loaded everything. */
    spare: () => reserve.length,
    /** Whether a thread that has no task can run this one: not each has loaded each plugin. */
    isFree: (task: Task) => ready.isFree(task),
    prepare,
    /** Why a task that no thread can run is not to wait for one; undefined where it can be run, now or soon. */
    refusal: (task: Task) => (faults.isEmpty || ready.canEverRun(task) ? undefined : faults.refusal(task)),
    /** Helpers that threads could not load; none once each has loaded all. */
    missing: () => faults.services,
    /** The engine that is configured, or that the first thread has found. */
    engine: () => (settings.engine === 'auto' ? report?.engine : settings.engine),
    /** Runs a task on a free thread. Throws a `PoolError`: `helper_timeout`, or `internal` where the thread died. */
    run(task: Task, call?: TaskCall): Promise<TaskOutcome> {
      if (!hasRun) reserveSoon();
      const thread = ready.acquire(task);
      if (thread) return thread.run(task, call);
      return Promise.reject(new PoolError('internal', 'a task was run where no thread was free'));
    },
    /**
     * Has each thread load what first tasks need and a start does not, so that neither waits for it; then the threads that the start
     * did not wait for are started one after another. Resolves before these have. Never rejects.
     */
    async warm(): Promise<void> {
      if (settings.lean) return;
      await Promise.all([...opened].map((thread) => thread.warm()));
      void replenish();
    },
    async close(): Promise<void> {
      closing.abort();
      await Promise.all([...opened].map((thread) => thread.close()));
    },
  };
}

/** Plugins of which it can run no task now. */
function unfit({ lacking, unloaded }: Thread): number {
  return lacking.size + unloaded.size;
}

function removeFrom<T>(list: T[], item: T): boolean {
  const at = list.indexOf(item);
  if (at !== -1) list.splice(at, 1);
  return at !== -1;
}
