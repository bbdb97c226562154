/**
 * The entry of a worker thread. It imports nothing that can fail to load: a module that does would end every
 * worker at its start, and the pool with them.
 */
import { performance } from 'node:perf_hooks';
import { move, transferableSymbol, valueSymbol, workerData } from 'piscina';
import { type BytesAnswer, makeAnswer, toBytes } from './answer.js';
import { guard } from './fault-guard.js';
import type { Image } from './image/engine.js';
import { freshBytes } from './image/operation.js';
import { loadEngine } from './image/select.js';
import { createFontSet } from './image/text/fonts.js';
import { importPlugin, type PluginModule } from './plugin-module.js';
import { yieldToOthers } from './priority.js';
import { resolveHelperModule } from './resolve-helper.js';
import type { CallTask, Task, WorkerReport, WorkerSettings } from './task.js';
import { describeThrown, readThrown } from './thrown.js';

interface Plugin {
  handler: (input: unknown, context: Record<string, unknown> & { image?: Image }) => unknown;
}

interface LoadedPlugin {
  plugin: Plugin;
  shipped: boolean;
}

const settings = workerData as WorkerSettings;
if (settings.helperUrl) resolveHelperModule(settings.helperUrl);

const fontSet = createFontSet(settings.fonts);
const engine = fontSet.then((fonts) =>
  loadEngine(settings.engine, { fonts, timeoutSeconds: Math.ceil(settings.taskTimeoutMs / 1000) }),
);
const judge = import('./judge.js').then(async ({ createJudge }) => {
  const fonts = await fontSet;
  return createJudge((text) => fonts.missing(text));
});
// Looked at where they are awaited; a rejection must not end the thread before that.
engine.catch(() => undefined);
judge.catch(() => undefined);

const plugins = new Map<string, LoadedPlugin>();

/** Says which engine was loaded, when all but the plugins has been; throws where none can be. Called by Piscina, by its name. */
export async function report(): Promise<WorkerReport> {
  await judge;
  const { engine: loaded, fallbackReason } = await engine.catch((error) => {
    // Of an error only the message arrives.
    throw new Error(readThrown(error).message);
  });
  // Not before: until the threads are ready nobody is served.
  yieldToOthers();
  return fallbackReason === undefined ? { engine: loaded.name } : { engine: loaded.name, fallbackReason };
}

/**
 * Imports a plugin, so that no call waits for it, and says why that cannot be; then this thread is of no use, because Node
 * keeps a failed import for good. Called by Piscina, by its name.
 */
export async function load(module: PluginModule): Promise<string | undefined> {
  try {
    plugins.set(module.url, await loadPlugin(module));
    return undefined;
  } catch (error) {
    return describeThrown(readThrown(error));
  }
}

async function loadPlugin(module: PluginModule): Promise<LoadedPlugin> {
  return { plugin: (await importPlugin(module)) as Plugin, shipped: module.shipped === true };
}

/** Does one task and gives its outcome; never throws. Called by Piscina. */
export default async function work(task: Task): Promise<unknown> {
  const start = performance.now();
  try {
    const value = task.kind === 'judge' ? (await judge)(task) : await call(task);
    const outcome = { ok: true, value, ms: performance.now() - start };
    if (!('kind' in value)) return outcome;
    return move({ [transferableSymbol]: value.bytes.buffer, [valueSymbol]: outcome });
  } catch (error) {
    return { ok: false, ...readThrown(error), ms: performance.now() - start };
  }
}

async function call(task: CallTask): Promise<BytesAnswer> {
  const { service } = task.context;
  const { plugin, shipped } = plugins.get(task.plugin) ?? (await loadPlugin({ service, url: task.plugin }));
  const image = task.source && (await (await engine).engine.open(task.source, settings.limits));
  const context = image ? { ...task.context, image } : { ...task.context };
  const handle = async () => plugin.handler(task.input, context);
  const result = await (shipped ? handle() : guard({ name: service }, handle));
  const answer = toBytes(makeAnswer(result, settings.maxJsonBytes));
  return { ...answer, bytes: ownBytes(answer) };
}

/**
 * Bytes that may be moved to the main thread: a picture's and JSON's are. Any others are copied, for a plugin may keep what it
 * answers with, and moved memory would be gone from its next answer.
 */
function ownBytes({ kind, bytes }: BytesAnswer): Uint8Array<ArrayBuffer> {
  const mine = freshBytes.delete(bytes) || kind === 'json';
  const alone = mine && bytes.byteLength === bytes.buffer.byteLength;
  return alone ? (bytes as Uint8Array<ArrayBuffer>) : new Uint8Array(bytes);
}
