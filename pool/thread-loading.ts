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
  /** Imports a plugin and runs its `setup`. */
  plugin(module: PluginModule): Promise<void>;
  /** The plugin of this url, where a task has to wait for it. */
  missing(url: string): PluginModule | undefined;
  /** Tells what plugins have set up that the thread is to end; resolves when they have heard it. */
  close(): Promise<void>;
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
      throw new LoadError(`a worker thread ${how}: ${readThrown(cause).message}`, { service, cause });
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
      throw new LoadError(`${fileOf(url)}: ${how}`, { service, inSetup: true });
    } finally {
      clearTimeout(timer);
      clearTimeout(end);
    }
  }

  return {
    engine: (port) =>
      inTime('its engine', (signal) =>
        piscina.run({ port }, { name: 'report', signal, transferList: [port] }),
      ),
    async plugin(module) {
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
    },
    missing: (url) => (hooks.onDemand && !loaded.has(url) ? hooks.onDemand(url) : undefined),
    async close() {
      if (!hasState || hasEnded()) return;
      const limit = AbortSignal.timeout(closeLimitMs);
      await piscina.run(undefined, { name: 'close', signal: limit }).catch(() => undefined);
    },
  };
}
