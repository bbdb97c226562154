import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import type { RoutedPlugin } from './find-plugins.js';
import type { PortableDeclaration } from './portable-declaration.js';

/** What a plugin exports, or why it cannot be loaded. */
export type Inspection =
  | { ok: true; url: string; exported: PortableDeclaration }
  | { ok: false; reason: string };

export interface InspectorData {
  helperUrl: string | undefined;
  /** Milliseconds that an import may take. */
  timeoutMs: number;
}

/** A thread that blocks while it imports cannot say so; one that has failed looks for the line first. */
const graceMs = 1_000;

/**
 * Imports plugins in a fresh thread that is thrown away, so that the newest version of each file is read and nothing of it stays:
 * the main thread would keep every version for good. One that ends its thread, or never finishes, costs the others nothing.
 * Rejects where `signal` gives it up.
 */
export async function inspectPlugins(
  plugins: readonly RoutedPlugin[],
  data: InspectorData,
  signal: AbortSignal,
): Promise<Map<RoutedPlugin, Inspection>> {
  const inspections = new Map<RoutedPlugin, Inspection>();
  let worker: Worker | undefined;
  const end = () => void worker?.terminate();
  signal.addEventListener('abort', end, { once: true });
  try {
    for (const plugin of plugins) {
      signal.throwIfAborted();
      if (worker === undefined || hasEnded(worker)) {
        worker = openWorker(data);
        // Its own start, which ends with its first word, is no import's time.
        await once(worker, 'message', { signal });
      }
      inspections.set(plugin, await inspectIn(worker, plugin, data.timeoutMs + graceMs));
    }
    signal.throwIfAborted();
    return inspections;
  } finally {
    signal.removeEventListener('abort', end);
    await worker?.terminate();
  }
}

function openWorker(workerData: InspectorData): Worker {
  const worker = new Worker(new URL('./inspect-worker.js', import.meta.url), {
    workerData,
    resourceLimits: { maxOldGenerationSizeMb: 512 },
  });
  // What a plugin left behind may end the thread while nobody listens, and would end the process then.
  return worker.on('error', () => undefined);
}

function hasEnded({ threadId }: Worker): boolean {
  return threadId === -1;
}

function inspectIn(worker: Worker, plugin: RoutedPlugin, limitMs: number): Promise<Inspection> {
  return new Promise((resolve) => {
    let why: string | undefined;
    const timer = setTimeout(() => {
      why = `it did not finish within ${limitMs} ms; does a loop at its top never end?`;
      void worker.terminate();
    }, limitMs);
    const settle = (inspection: Inspection) => {
      clearTimeout(timer);
      worker.off('error', onError).off('message', settle).off('exit', onExit);
      resolve(inspection);
    };
    // "exit" follows.
    const onError = (error: Error) => {
      why ??= error.message;
    };
    const onExit = (code: number) =>
      settle({
        ok: false,
        reason: `cannot be loaded: ${why ?? `it ended its thread, exit code ${code}; a plugin must not call process.exit`}`,
      });
    worker.on('error', onError).on('message', settle).on('exit', onExit);
    worker.postMessage(plugin);
  });
}
