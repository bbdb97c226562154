import { Worker } from 'node:worker_threads';
import type { Ajv } from 'ajv';
import { checkDeclaration } from '../../schemas/declaration.js';
import { type DeclaredHelper, describeDeclaration } from '../../schemas/declared-helper.js';
import { asSchema } from '../../schemas/json-schema.js';
import { compileOutput, inputFaults } from '../../schemas/parameters/compile-schema.js';
import { compileParameters } from '../../schemas/parameters/parameters.js';
import type { RoutedPlugin } from './discover.js';
import type { Helper } from './registry.js';

/**
 * A plugin's default export as it is sent between threads: the names of its functions, and the rest as data. Functions inside the data
 * are refused.
 */
export interface PortableDeclaration {
  data: unknown;
  functions: string[];
}

/** What a plugin exports, or why it cannot be loaded. */
export type Inspection =
  | { ok: true; url: string; exported: PortableDeclaration }
  | { ok: false; reason: string };

export interface InspectorData {
  helperUrl: string | undefined;
  /** Milliseconds that an import may take. */
  timeoutMs: number;
}

/** Milliseconds beyond the import's own limit, for a thread that is blocked or looks for the line of an error. */
const graceMs = 1_000;
/** Milliseconds that a thread may go on after its imports. */
const lingerMs = 1_000;

/** Imports plugins in a separate thread. One that ends its thread, or never finishes, costs the others nothing. */
export async function inspectPlugins(
  plugins: readonly RoutedPlugin[],
  data: InspectorData,
): Promise<Map<RoutedPlugin, Inspection>> {
  const inspections = new Map<RoutedPlugin, Inspection>();
  let worker: Worker | undefined;
  for (const plugin of plugins) {
    // The plugin before may have ended it.
    if (worker === undefined || worker.threadId === -1) worker = await openInspector(data);
    inspections.set(plugin, await inspectIn(worker, plugin, data.timeoutMs + graceMs));
  }
  const last = worker;
  if (last) {
    // Plugins' output may still be on its way; what they keep open is not awaited.
    last.postMessage('end');
    setTimeout(() => void last.terminate(), lingerMs).unref();
  }
  return inspections;
}

/** The helper of an inspected plugin, without its functions. Throws an `Error` with the reason why it is none. */
export function declareInspected(found: RoutedPlugin, inspection: Inspection, ajv: Ajv): Helper {
  if (!inspection.ok) throw new Error(inspection.reason);
  return declareHelper({ ...found, url: inspection.url }, fromPortable(inspection.exported), ajv);
}

/** The export with its functions replaced by ones that throw. */
function fromPortable({ data, functions }: PortableDeclaration): unknown {
  const notHere = () => {
    throw new Error('this function is in another thread');
  };
  return { ...(data as object), ...Object.fromEntries(functions.map((name) => [name, notHere])) };
}

/** Starts a thread; its start does not count as import time. */
async function openInspector(workerData: InspectorData): Promise<Worker> {
  const worker = new Worker(new URL('./inspect-worker.js', import.meta.url), {
    workerData,
    resourceLimits: { maxOldGenerationSizeMb: 512 },
  });
  // An error after the last import would otherwise end the process.
  worker.on('error', () => undefined);
  await new Promise((resolve, reject) => {
    // Its first message; "online" comes before its own modules are loaded.
    worker.once('message', resolve);
    worker.once('exit', () => reject(new Error('the thread that inspects plugins ended at its start')));
  });
  return worker;
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
    const onExit = (code: number) => {
      why ??= `it ended its thread, exit code ${code}; a plugin must not call process.exit`;
      settle({ ok: false, reason: `cannot be loaded: ${why}` });
    };
    worker.on('error', onError).on('message', settle).on('exit', onExit);
    worker.postMessage(plugin);
  });
}

/** Makes a helper of a plugin's declaration, without its functions. Throws an `Error` with every reason why it is none. */
export function declareHelper(found: RoutedPlugin & { url: string }, exported: unknown, ajv: Ajv): Helper {
  const { id, file, url, shipped } = found;
  // Tests check the package's own.
  const declaration = shipped ? describeDeclaration(exported) : readDeclaration(exported, ajv);
  if (declaration.output && !shipped) compileOutput(ajv, declaration.output);
  const parameters = compileParameters(ajv, declaration, { checked: shipped });
  return { id, file, shipped, url, declaration, parameters };
}

function readDeclaration(exported: unknown, ajv: Ajv): DeclaredHelper {
  const reasons = checkDeclaration(exported);
  if (reasons.length === 0) return describeDeclaration(exported);
  const fieldOf = (fault: string) => fault.split(' ', 1)[0];
  const named = new Set(reasons.map(fieldOf));
  const faults = inputFaults(ajv, asSchema(asSchema(exported).input));
  throw new Error([...reasons, ...faults.filter((fault) => !named.has(fieldOf(fault)))].join('\n'));
}
