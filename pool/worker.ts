/**
 * The entry of a worker thread. It imports nothing that can fail to load: a module that does would end every
 * worker at its start, and the pool with them.
 */

import { performance } from 'node:perf_hooks';
import { setImmediate } from 'node:timers/promises';
import type { MessagePort } from 'node:worker_threads';
import { move, transferableSymbol, valueSymbol, workerData } from 'piscina';
import type { ValidatedInput } from '../schemas/input/validate-input.js';
import type { BytesAnswer } from './answer.js';
import { type CallOptions, callPlugin } from './call-plugin.js';
import { once } from './concurrency.js';
import { createRedactor, createWorkerLink, type WorkerLink } from './context/handler-context.js';
import { refusalIn } from './context/messages.js';
import { describeThrown, readThrown } from './errors.js';
import { importPlugin, type LoadedPlugin, type Plugin, type PluginModule, setUp } from './plugin.js';
import { hookPlugins, useSources } from './plugin-hooks.js';
import { runSteps, StepFailure } from './run-steps.js';
import type {
  CallStep,
  CallTask,
  Failed,
  NumberedTask,
  PreviewTask,
  Task,
  WorkerReport,
  WorkerSettings,
} from './task.js';
import { countSharedBuffers, type SharedBytes } from './task-limits.js';
import { lowerPriority, mapStackTraces, sealObjectPrototype } from './thread-settings.js';

const settings = workerData as WorkerSettings & { shared: SharedBytes };
mapStackTraces();
countSharedBuffers(settings.shared);
sealObjectPrototype();
if (settings.helperUrl) hookPlugins(settings.helperUrl);

const fontSet = once(async () => (await import('./image/text/fonts.js')).createFontSet(settings.fonts));
const engine = once(async () => {
  const { loadEngine } = await import('./image/select.js');
  const timeoutSeconds = Math.ceil(settings.taskTimeoutMs / 1000);
  return loadEngine(settings.engine, { fonts: fontSet, timeoutSeconds });
});
const inputValidator = once(async () => {
  const [{ createInputValidator }, { encodableBy }, fonts, name] = await Promise.all([
    import('./input-validator.js'),
    import('./image/options.js'),
    fontSet(),
    // A thread that loads no more than it needs knows its engine without loading it.
    settings.engine === 'auto' ? engine().then((loaded) => loaded.engine.name) : settings.engine,
  ]);
  return createInputValidator({ canDraw: (text) => fonts.missing(text), canEncode: encodableBy(() => name) });
});
if (!settings.lean) void engine();

const plugins = new Map<string, LoadedPlugin>();
/** Aborted when the thread ends in an orderly way: plugins free then what they set up. */
const closing = new AbortController();
const callOptions: CallOptions = {
  // Awaited only for a picture.
  get engine() {
    return engine().then((loaded) => loaded.engine);
  },
  limits: settings.limits,
  maxJsonBytes: settings.maxJsonBytes,
  maxBodyBytes: settings.maxBodyBytes,
};
let link: WorkerLink;

/** Gets its end of the link to the main thread, and says which engine was loaded; throws where none can be. Called by Piscina, by its name. */
export async function report(port: MessagePort): Promise<WorkerReport> {
  link = createWorkerLink(port, settings.logLevel ?? 'silent');
  if (settings.lean && settings.engine !== 'auto') {
    lowerPriority();
    return { engine: settings.engine };
  }
  const loaded = await engine().catch((error) => {
    // Of an error only the message arrives.
    throw new Error(readThrown(error).message);
  });
  // Not before: calls are served only when threads are ready.
  lowerPriority();
  const { version, fallbackReason } = loaded;
  return { engine: loaded.engine.name, version, ...(fallbackReason !== undefined && { fallbackReason }) };
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
  const { service, config = {}, secrets = [], sources } = module;
  if (sources) useSources(sources);
  return {
    service,
    plugin: (await importPlugin(module)) as Plugin,
    shipped: module.shipped === true,
    parts: { config: Object.freeze(config), state: undefined, redactor: createRedactor(secrets) },
  };
}

/** Runs the `setup` of a plugin that was loaded, and says why that failed. Called by Piscina, by its name. */
export async function prepare(url: string): Promise<string | undefined> {
  const loaded = plugins.get(url);
  const setup = loaded?.plugin.setup;
  if (!loaded || typeof setup !== 'function') return 'has no setup';
  const { service, plugin, shipped, parts } = loaded;
  try {
    const given = { config: parts.config, signal: closing.signal };
    const { redactor } = parts;
    parts.state = await setUp(() => setup.call(plugin, given), { service, shipped, redactor });
    return undefined;
  } catch (error) {
    return (error as Error).message;
  }
}

/** Loads what first tasks need and a start does not: the validator of inputs and the texts of pictures. Called by Piscina, by its name. */
export async function warm(): Promise<void> {
  await inputValidator();
  const { text } = await engine();
  await text();
}

/** Notifies plugins that the thread is to end. Called by Piscina, by its name. */
export async function close(): Promise<void> {
  closing.abort();
  // What they begin to close now, such as a connection, goes out in this round of the event loop.
  await setImmediate();
}

/** Does one task and gives its outcome; never throws. Called by Piscina. */
export default async function work({ number, task }: NumberedTask): Promise<unknown> {
  const start = performance.now();
  try {
    const value = await resultOf(number, task);
    const outcome = { ok: true, value, ms: performance.now() - start };
    if (!('kind' in value)) return outcome;
    return move({ [transferableSymbol]: value.bytes.buffer, [valueSymbol]: outcome });
  } catch (error) {
    return { ok: false, ...failed(task, error), ms: performance.now() - start };
  }
}

async function resultOf(number: number, task: Task): Promise<BytesAnswer | ValidatedInput> {
  if (task.kind === 'validate') return (await inputValidator())(task);
  return task.kind === 'preview' ? preview(task) : call(number, task);
}

async function preview({ bytes, maxBytes }: PreviewTask): Promise<BytesAnswer> {
  const [{ makePreview }, { engine: loaded }] = await Promise.all([import('./image/preview.js'), engine()]);
  const { body, type } = await makePreview(loaded, bytes, settings.limits, { maxBytes });
  return { kind: 'bytes', bytes: body, type };
}

async function call(number: number, task: CallTask): Promise<BytesAnswer> {
  const begin = async ({ service, plugin: url }: Pick<CallStep, 'service' | 'plugin'>) => {
    const loaded = plugins.get(url) ?? (await loadPlugin({ service, url }));
    return { loaded, scope: link.begin(number, { ...task.context, service }, loaded.parts.redactor) };
  };
  if (task.steps) return runSteps(task, { begin, end: link.end, ...callOptions });
  try {
    const { loaded, scope } = await begin({ service: task.context.service, plugin: task.plugin });
    return await callPlugin(loaded, task, scope, callOptions);
  } finally {
    link.end();
  }
}

function failed(task: Task, failure: unknown): Failed {
  const { step, cause: error } = failure instanceof StepFailure ? failure : { cause: failure };
  const own = task.kind === 'call' ? (task.steps?.[step ?? -1] ?? task) : undefined;
  const redactor = own && plugins.get(own.plugin)?.parts.redactor;
  const thrown = readThrown(error);
  const refusal = refusalIn(error);
  return {
    ...(redactor ? redactor.thrown(thrown) : thrown),
    ...(refusal ? { refusal } : {}),
    ...(step === undefined ? {} : { step }),
  };
}
