import type { TaskCall } from './context/task-host.js';
import { LoadError } from './load-error.js';
import { createLoadFaults } from './load-faults.js';
import { createPlace, type Opened, type OpenOptions } from './place.js';
import type { PluginModule } from './plugin-module.js';
import { PoolError } from './pool-error.js';
import { createRoster } from './roster.js';
import type { Task, TaskOutcome, WorkerReport, WorkerSettings } from './task.js';
import { createThread, type Thread } from './thread.js';

export interface ThreadsOptions {
  /** At least one. */
  count: number;
  settings: WorkerSettings;
  /** Tries that a thread has at the start; by default enough for what passes, such as too many open files. */
  attempts?: number;
  /** Called whenever a thread has become ready, and when a task that waits may be one of those that are refused now. */
  onChange: () => void;
  /** Told of a fault that belongs to no task. */
  onFault: (error: Error) => void;
  /** Milliseconds that a `setup` may take in a thread that replaces another, by the longest that a thread has loaded for so far. */
  setupLimit?: (longestLoadMs: number) => number;
}

/** Worker threads without a queue: whoever runs tasks on them sees to it that a thread is free. */
export interface Threads {
  /** Waits until every thread has loaded engine and plugins and gives their report. Throws where one cannot. */
  start(): Promise<WorkerReport>;
  /** The engine that they were told to use, or have found; undefined before the first has. */
  engine(): WorkerReport['engine'] | undefined;
  /** Threads that can run a task, busy ones included; one that loads or is being replaced does not count. */
  ready(): number;
  /** Of these, how many have no task. */
  idle(): number;
  /** Whether a thread that has no task can run this one: where a plugin cannot be loaded any more, not each can. */
  isFree(task: Task): boolean;
  /** Why a task that no thread can run is not to wait for one; undefined where it can be run, now or soon. */
  refusal(task: Task): PoolError | undefined;
  /** Helpers that threads could not load; none once a thread has loaded all. */
  missing(): readonly string[];
  /** Threads that are started from now on load these of the plugins alone, by their urls. */
  retain(urls: ReadonlySet<string>): void;
  /** Runs a task on a free thread. Throws a `PoolError`: `helper_timeout`, or `internal` where the thread died. */
  run(task: Task, call?: TaskCall): Promise<TaskOutcome>;
  /** Has each thread load what first tasks need and a start does not, so that neither waits for it. Never rejects. */
  warm(): Promise<void>;
  close(): Promise<void>;
}

/** Tries that a thread has at the start: what passes (too many open files) has passed by then, a fault of a plugin has not. */
const startAttempts = 4;
/** What was slow once may be slower again, but not without end. */
const patientLimit = (longestLoadMs: number) => Math.max(60_000, 10 * longestLoadMs);

/** Keeps `count` worker threads: another takes the place of each that ends. */
export function createThreads(options: ThreadsOptions): Threads {
  const { count, attempts = startAttempts, onChange, onFault, setupLimit = patientLimit } = options;
  const opened = new Set<Thread>();
  const roster = createRoster(close);
  const faults = createLoadFaults();
  const closing = new AbortController();
  let report: WorkerReport | undefined;
  let settings = options.settings;
  let longestLoadMs = 0;
  /** When it became known what is to be loaded: a thread may be started long before. */
  let knownSince = 0;
  settings.plugins?.then(
    () => {
      knownSince = Date.now();
    },
    // Judged by each thread that awaits it; a rejection must not end the process before that.
    () => undefined,
  );

  async function open({ isStart = false, onEnd, ...how }: OpenOptions): Promise<Opened> {
    closing.signal.throwIfAborted();
    // A start waits, and says for what. Later nobody watches: what never settles would cost the thread's place for good.
    const setupLimitMs = isStart ? undefined : setupLimit(longestLoadMs);
    const began = Date.now();
    const thread: Thread = createThread({
      settings,
      setupLimitMs,
      onFree: () => roster.free(thread),
      onEnd(ofItself) {
        opened.delete(thread);
        if (roster.remove(thread)) onEnd(thread, ofItself);
      },
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
      // Any other: which plugins there are is not known, and never will be.
      if (!(error instanceof LoadError) || closing.signal.aborted) throw error;
      return { thread, error };
    }
    longestLoadMs = Math.max(longestLoadMs, Date.now() - Math.max(began, knownSince));
    return { thread };
  }

  async function close(thread: Thread): Promise<void> {
    await thread.close();
    opened.delete(thread);
  }

  function newPlace() {
    return createPlace({ open, roster, faults, onChange, onFault, closing: closing.signal });
  }

  return {
    async start() {
      await Promise.all(Array.from({ length: count }, () => newPlace().start(attempts)));
      if (!report) throw new Error('threads were started that have told nothing');
      return report;
    },
    ready: roster.size,
    idle: roster.idle,
    isFree: roster.isFree,
    refusal: (task) => (faults.isEmpty() || roster.knows(task) ? undefined : faults.refusal(task)),
    missing: faults.services,
    retain(urls) {
      const isKept = ({ url }: PluginModule) => urls.has(url);
      const { plugins } = settings;
      if (plugins) settings = { ...settings, plugins: plugins.then((all) => all.filter(isKept)) };
    },
    engine: () => (settings.engine === 'auto' ? report?.engine : settings.engine),
    run(task, call) {
      const thread = roster.take(task);
      if (thread) return thread.run(task, call);
      return Promise.reject(new PoolError('internal', 'a task was run where no thread was free'));
    },
    async warm() {
      if (settings.lean) return;
      await Promise.all([...opened].map((thread) => thread.warm()));
    },
    async close() {
      closing.abort();
      await Promise.all([...opened].map((thread) => thread.close()));
    },
  };
}
