/**
 * The entry of a worker thread. It imports nothing that can fail to load: a module that does would end every
 * worker at its start, and the pool with them.
 */
import { performance } from 'node:perf_hooks';
import { move, transferableSymbol, valueSymbol, workerData } from 'piscina';
import { guard } from './fault-guard.js';
import type { Image } from './image/engine.js';
import { createFontSet } from './image/fonts.js';
import { freshBytes } from './image/operation.js';
import { loadEngine } from './image/select.js';
import { importPlugin, type PluginModule } from './plugin-module.js';
import { resolveHelperModule } from './resolve-helper.js';
import type { Task, TaskOutcome, WorkerReport, WorkerSettings } from './task.js';
import { readThrown } from './thrown.js';

interface Plugin {
  handler: (input: unknown, context: Record<string, unknown> & { image?: Image }) => unknown;
}

const settings = workerData as WorkerSettings;
if (settings.helperUrl) resolveHelperModule(settings.helperUrl);

const engine = createFontSet(settings.fonts).then((fonts) =>
  loadEngine(settings.engine, { fonts, timeoutSeconds: Math.ceil(settings.taskTimeoutMs / 1000) }),
);
// Judged where it is awaited; a rejection must not end the thread before that.
engine.catch(() => undefined);

const plugins = new Map<string, Plugin>();

/** Says which engine was loaded; throws where none can be. Called by Piscina, by its name. */
export async function report(): Promise<WorkerReport> {
  const { engine: loaded, fallbackReason } = await engine.catch((error) => {
    // Of an error only the message arrives.
    throw new Error(readThrown(error).message);
  });
  return fallbackReason === undefined ? { engine: loaded.name } : { engine: loaded.name, fallbackReason };
}

/**
 * Imports a plugin, so that no call waits for it, and says why that cannot be; then this thread is of no use, because Node
 * keeps a failed import for good. Called by Piscina, by its name.
 */
export async function load(module: PluginModule): Promise<string | undefined> {
  try {
    plugins.set(module.url, (await importPlugin(module)) as Plugin);
    return undefined;
  } catch (error) {
    const { message, stack } = readThrown(error);
    return stack ?? message;
  }
}

/** Runs one handler and gives its outcome; never throws. Called by Piscina. */
export default async function work(task: Task): Promise<unknown> {
  const start = performance.now();
  const { service } = task.context;
  try {
    const plugin =
      plugins.get(task.plugin) ?? ((await importPlugin({ service, url: task.plugin })) as Plugin);
    const image = task.source && (await (await engine).engine.open(task.source, settings.limits));
    const context = image ? { ...task.context, image } : { ...task.context };
    const value = await guard({ name: service }, async () => plugin.handler(task.input, context));
    return moved({ ok: true, value, ms: performance.now() - start });
  } catch (error) {
    return { ok: false, ...readThrown(error), ms: performance.now() - start };
  }
}

/**
 * Moves a picture's bytes to the main thread. Any others are copied: a plugin may keep what it answers with, and
 * moved memory would be gone from its next answer.
 */
function moved(outcome: TaskOutcome & { ok: true }): unknown {
  const value = outcome.value as { body?: unknown } | undefined;
  if (!(value?.body instanceof Uint8Array)) return outcome;
  const { body } = value;
  const owned = freshBytes.delete(body) && body.byteLength === body.buffer.byteLength;
  const bytes = owned ? body : new Uint8Array(body);
  const answer = { ...outcome, value: { ...value, body: bytes } };
  return move({ [transferableSymbol]: bytes.buffer, [valueSymbol]: answer });
}
