import { Worker } from 'node:worker_threads';
import type { Ajv } from 'ajv';
import { checkDeclaration } from '../../schemas/declaration.js';
import { type DeclaredHelper, describeDeclaration } from '../../schemas/declared-helper.js';
import { asSchema } from '../../schemas/json-schema.js';
import { compileOutput, inputFaults } from '../../schemas/parameters/compile-schema.js';
import { compileParameters } from '../../schemas/parameters/parameters.js';
import type { RoutedPlugin } from './discover.js';
import { fromPortable, type PortableDeclaration } from './portable-declaration.js';
import type { Helper } from './registry.js';

/** What a plugin exports, or why it cannot be loaded. */
export type Inspection =
  | { ok: true; url: string; exported: PortableDeclaration }
  | { ok: false; reason: string };

export interface InspectorData {
  helperUrl: string | undefined;
  /** Milliseconds that an import may take. */
  timeoutMs: number;
}

/** A thread that imports plugins to see what they declare, and is thrown away then. */
export interface Inspector {
  worker: Worker;
  /** Resolves when it can import; rejects where it ended before. */
  ready: Promise<unknown>;
}

/** A thread that blocks while it imports cannot say so; one that has failed looks for the line first. */
const graceMs = 1_000;
/** Milliseconds that a thread may go on when it has been looked at. */
const lingerMs = 1_000;

/**
 * Imports plugins in a fresh thread that is thrown away, so that the newest version of each file is read and nothing of it stays:
 * the main thread would keep every version for good. One that ends its thread, or never finishes, costs the others nothing.
 * `spare` is one that has imported nothing yet. Rejects where `signal` gives it up.
 */
export async function inspectPlugins(
  plugins: readonly RoutedPlugin[],
  data: InspectorData,
  signal: AbortSignal,
  spare?: Inspector,
): Promise<Map<RoutedPlugin, Inspection>> {
  const inspections = new Map<RoutedPlugin, Inspection>();
  let inspector = spare;
  const end = () => void inspector?.worker.terminate();
  signal.addEventListener('abort', end, { once: true });
  try {
    for (const plugin of plugins) {
      signal.throwIfAborted();
      if (inspector === undefined || hasEnded(inspector)) inspector = openInspector(data);
      // Its own start is no import's time.
      await inspector.ready;
      inspections.set(plugin, await inspectIn(inspector.worker, plugin, data.timeoutMs + graceMs));
    }
    signal.throwIfAborted();
    return inspections;
  } finally {
    signal.removeEventListener('abort', end);
    if (inspector) await endInspector(inspector, signal.aborted);
  }
}

/** At the end what plugins print may still be on its way; what they keep open is not waited for long. */
async function endInspector({ worker }: Inspector, atOnce: boolean): Promise<void> {
  if (atOnce) await worker.terminate();
  else {
    worker.postMessage('end');
    setTimeout(() => void worker.terminate(), lingerMs).unref();
  }
}

/** The helper of a plugin that was looked at, without its functions. Throws an `Error` that says why it is none. */
export function declareInspected(found: RoutedPlugin, inspection: Inspection, ajv: Ajv): Helper {
  if (!inspection.ok) throw new Error(inspection.reason);
  return declareHelper({ ...found, url: inspection.url }, fromPortable(inspection.exported), ajv);
}

/** Starts such a thread. */
export function openInspector(workerData: InspectorData): Inspector {
  const worker = new Worker(new URL('./inspect-worker.js', import.meta.url), {
    workerData,
    resourceLimits: { maxOldGenerationSizeMb: 512 },
  });
  const ready = new Promise((resolve, reject) => {
    // Its first word; "online" it is before it has loaded its own modules.
    worker.once('message', resolve);
    worker.once('exit', () => reject(new Error('the thread that looks at plugins ended at its start')));
  });
  ready.catch(() => undefined);
  // What a plugin left behind may end the thread while nobody listens, and would end the process then.
  worker.on('error', () => undefined);
  return { worker, ready };
}

function hasEnded({ worker }: Inspector): boolean {
  return worker.threadId === -1;
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

/** Where a declaration was found. */
export type DeclaredAt = Pick<Helper, 'id' | 'file' | 'url'> & { shipped: boolean };

/** Makes a helper of a plugin's declaration, without its functions. Throws an `Error` with every reason why it is none. */
export function declareHelper(at: DeclaredAt, exported: unknown, ajv: Ajv): Helper {
  const { id, file, url, shipped } = at;
  // The package's own are checked by its tests.
  const declaration = shipped ? describeDeclaration(exported) : readDeclaration(exported, ajv);
  if (declaration.output && !shipped) compileOutput(ajv, declaration.output);
  const parameters = compileParameters(ajv, declaration, { checked: shipped });
  return { id, file, shipped, url, declaration, parameters };
}

function readDeclaration(exported: unknown, ajv: Ajv): DeclaredHelper {
  const reasons = checkDeclaration(exported);
  if (reasons.length === 0) return describeDeclaration(exported);
  throw new Error([...reasons, ...moreFaults(ajv, exported, reasons)].join('\n'));
}

/** The faults of the schema that a faulty declaration has besides, of no place that `told` has named. */
function moreFaults(ajv: Ajv, declaration: unknown, told: readonly string[]): string[] {
  const places = new Set(told.map(placeOfFault));
  return inputFaults(ajv, asSchema(asSchema(declaration).input)).filter(
    (fault) => !places.has(placeOfFault(fault)),
  );
}

function placeOfFault(fault: string): string {
  return fault.split(' ', 1)[0] ?? '';
}
