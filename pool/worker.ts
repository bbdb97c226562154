/**
 * The entry of a worker thread. It imports nothing that can fail to load: a module that does would end every
 * worker at its start, and the pool with them.
 */
import { performance } from 'node:perf_hooks';
import { move, transferableSymbol, valueSymbol, workerData } from 'piscina';
import { createFaultGuard } from './fault-guard.js';
import type { Image } from './image/engine.js';
import { createFontSet } from './image/fonts.js';
import { freshBytes } from './image/operation.js';
import { loadEngine } from './image/select.js';
import { resolveHelperModule } from './resolve-helper.js';
import type { Task, TaskOutcome, WorkerReport, WorkerSettings } from './task.js';

interface Plugin {
  handler: (input: unknown, context: Record<string, unknown> & { image?: Image }) => unknown;
}

const guard = createFaultGuard();
const settings = workerData as WorkerSettings;
if (settings.helperUrl) resolveHelperModule(settings.helperUrl);

const engine = createFontSet(settings.fonts).then((fonts) =>
  loadEngine(settings.engine, { fonts, timeoutSeconds: Math.ceil(settings.taskTimeoutMs / 1000) }),
);
// Judged where it is awaited; a rejection must not end the thread before that.
engine.catch(() => undefined);

/** Runs one handler and gives its outcome; never throws. Called by Piscina with a `Task`, or with nothing for a report. */
export default async function work(task?: Task): Promise<unknown> {
  if (!task) return report();
  const start = performance.now();
  try {
    const module = (await import(task.plugin)) as { default: Plugin | { default: Plugin } };
    const plugin = 'default' in module.default ? module.default.default : module.default;
    const image = task.source && (await (await engine).engine.open(task.source, settings.limits));
    const context = image ? { ...task.context, image } : { ...task.context };
    const value = await guard(task.context.service, async () => plugin.handler(task.input, context));
    return moved({ ok: true, value, ms: performance.now() - start });
  } catch (error) {
    return { ...failure(error), ms: performance.now() - start };
  }
}

async function report(): Promise<WorkerReport> {
  const { engine: loaded, fallbackReason } = await engine;
  return fallbackReason === undefined ? { engine: loaded.name } : { engine: loaded.name, fallbackReason };
}

/** Reads an error by shape: a plugin may have its own copy of a class, or throw anything at all. */
function failure(thrown: unknown): {
  ok: false;
  code?: string;
  message: string;
  details?: unknown;
  stack?: string;
} {
  if (typeof thrown !== 'object' || thrown === null) return { ok: false, message: String(thrown) };
  const { code, message, details, stack } = thrown as Record<string, unknown>;
  const known = typeof code === 'string' ? { code } : {};
  return {
    ok: false,
    ...known,
    message: String(message),
    ...(Array.isArray(details) ? { details: JSON.parse(JSON.stringify(details)) } : {}),
    ...(typeof stack === 'string' ? { stack } : {}),
  };
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
