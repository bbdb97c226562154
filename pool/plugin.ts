import { AsyncLocalStorage } from 'node:async_hooks';
import type { HelperParts } from './context/handler-context.js';
import { codedError, describeReason, describeThrown, readThrown } from './errors.js';
import { isInspected } from './task-limits.js';

interface GuardOptions {
  /** Named in messages about its faults. */
  name: string;
  /** Milliseconds after which the work has failed, if it has not settled by then and no debugger is attached. It cannot be stopped. */
  timeoutMs?: number;
  /** Removes secrets from what is written to stderr. */
  hide?: ((text: string) => string) | undefined;
  /** Called when the work has failed for its time: it may still be notified. */
  onTime?: () => void;
  /** Called with a fault after the end of the work; by default it goes to stderr. */
  onLate?: (error: unknown) => void;
}

interface Guarded extends GuardOptions {
  /** Undefined once the work has ended. */
  fail: ((error: unknown) => void) | undefined;
}

const guardStorage = new AsyncLocalStorage<Guarded>();
let listening = false;

/**
 * Runs work and fails it for whatever it lets escape from a callback or an unawaited promise, and for settling too late
 * (`helper_timeout`). A fault is attributed to its work by the asynchronous context; one that comes after the end of the work is
 * only logged. A fault without such a context ends the thread as ever.
 */
export function guard<T>(options: GuardOptions, work: () => Promise<T>): Promise<T> {
  listen();
  return new Promise((resolve, reject) => {
    const { name, timeoutMs, onTime } = options;
    const ending = <V>(settle: (value: V) => void) => {
      return (value: V) => {
        guarded.fail = undefined;
        clearTimeout(timer);
        settle(value);
      };
    };
    const fail = ending(reject);
    const guarded: Guarded = { ...options, fail };
    const expire = () => {
      if (isInspected()) return;
      fail(codedError('helper_timeout', `${name} did not settle within ${timeoutMs} ms`));
      onTime?.();
    };
    const timer = timeoutMs === undefined ? undefined : setTimeout(expire, timeoutMs).unref();
    guardStorage.run(guarded, () => work().then(ending(resolve), fail));
  });
}

/** Registered once per thread: a second listener would treat the first one's errors as unhandled. */
function listen(): void {
  if (listening) return;
  listening = true;
  process.on('uncaughtException', (error) => {
    const guarded = guardStorage.getStore();
    if (guarded) reportFault(guarded, error);
    // Other listeners handle what is theirs; without any, it ends the thread.
    else if (process.listenerCount('uncaughtException') === 1) throw error;
  });
  guardMicrotasks();
}

function reportFault({ name, fail, onLate, hide = (text) => text }: Guarded, error: unknown): void {
  if (fail) fail(error);
  else if (onLate) onLate(error);
  else {
    const text = hide(describeThrown(readThrown(error)));
    console.error(`helper-gateway: ${name} failed in what it had left running: ${text}`);
  }
}

/** Node 20 has left the asynchronous context of a microtask when it reports what that one threw. */
function guardMicrotasks(): void {
  const queue = globalThis.queueMicrotask;
  globalThis.queueMicrotask = function queueMicrotask(callback) {
    const guarded = guardStorage.getStore();
    if (!guarded || typeof callback !== 'function') return queue(callback);
    queue(() => {
      try {
        callback();
      } catch (error) {
        reportFault(guarded, error);
      }
    });
  };
}

/** A plugin as a worker finds it. */
export interface PluginModule {
  /** The helper's id, which names its faults. */
  service: string;
  url: string;
  /** Whether it comes with the package: its code is known, and need not be guarded against. */
  shipped?: boolean | undefined;
  /** Values of its configuration by their names. */
  config?: Readonly<Record<string, string>> | undefined;
  /** Those of them that are never shown. */
  secrets?: readonly string[] | undefined;
  /** What `useSources` takes; absent where modules are read from their files. */
  sources?: Uint8Array | undefined;
  /** Whether it has a `setup`, to be run before its first call. */
  setup?: boolean | undefined;
}

/** A plugin's default export, as far as a worker goes by it. */
export interface Plugin {
  source?: unknown;
  files?: unknown;
  handler: (input: unknown, context: object) => unknown;
  dryrun?: unknown;
  setup?: unknown;
}

/** A plugin that a thread has imported. */
export interface LoadedPlugin {
  service: string;
  plugin: Plugin;
  shipped: boolean;
  /** What its calls get beside their input. */
  parts: HelperParts;
}

/** Milliseconds that a plugin may take to load. A connection that it waits for fits in; one that never comes is named. */
export const importTimeoutMs = 30_000;

/**
 * Imports a plugin's module and gives its default export, undefined where it has none. CommonJS counts too, also as
 * TypeScript compiles it. What the module lets escape while it loads fails the import; later it goes to `onLate`. For the
 * package's own there is no guard: in Node before 24 one makes every promise of the thread cost more from then on.
 */
export async function importPlugin(
  { service, url, shipped }: PluginModule,
  options: { timeoutMs?: number; onLate?: (error: unknown) => void } = {},
): Promise<unknown> {
  const { timeoutMs = importTimeoutMs } = options;
  const load = async () => (await import(url)) as object;
  const module = await (shipped ? load() : guard({ ...options, timeoutMs, name: service }, load));
  const exported = 'default' in module ? module.default : undefined;
  const compiled = typeof exported === 'object' && exported !== null && '__esModule' in exported;
  return compiled && 'default' in exported ? exported.default : exported;
}

type SetupOptions = Pick<LoadedPlugin, 'service' | 'shipped'> & Pick<HelperParts, 'redactor'>;

/**
 * Runs a plugin's `setup` and gives what it makes, however long that takes. What it lets escape fails it; later that is logged as of
 * any call. Throws an error for the operator, without secrets.
 */
export async function setUp(
  setup: () => unknown,
  { service, shipped, redactor }: SetupOptions,
): Promise<unknown> {
  const work = async () => setup();
  try {
    return await (shipped ? work() : guard({ name: service, hide: redactor?.text }, work));
  } catch (error) {
    const reason = describeReason({ name: 'it threw', ...readThrown(error) });
    throw new Error(`setup failed: ${redactor ? redactor.text(reason) : reason}`);
  }
}
