import type { MessagePort } from 'node:worker_threads';
import type { Piscina } from 'piscina';
import { LoadError } from './load-error.js';
import { importTimeoutMs, type PluginModule } from './plugin-module.js';
import { fileOf } from './set-up.js';
import type { ThreadHooks, WorkerReport } from './task.js';
import { readThrown } from './thrown.js';

/** Asks a worker to load what it needs. Each throws a `LoadError` where the thread is of no use. */
export interface ThreadLoading {
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

export interface ThreadLoadingOptions {
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

export function createThreadLoading(
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
