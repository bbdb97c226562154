/** The entry of a thread that imports plugins to read their declarations; no call runs here. */
import { parentPort, workerData } from 'node:worker_threads';
import { hookPlugins } from '../../pool/plugin-hooks.js';
import { noDeclaration } from '../../schemas/declared-helper.js';
import { isObject } from '../../schemas/json-schema.js';
import { describeValue } from '../../schemas/quote.js';
import type { RoutedPlugin } from './discover.js';
import { importDeclaration } from './import-plugin.js';
import type { Inspection, InspectorData, PortableDeclaration } from './inspect-plugins.js';

const send = (inspection: Inspection) => parentPort?.postMessage(inspection);

const { helperUrl, timeoutMs } = workerData as InspectorData;
if (helperUrl) hookPlugins(helperUrl);

parentPort?.on('message', async (found: RoutedPlugin | 'end') => {
  // The thread ends when nothing is open any more.
  if (found === 'end') return parentPort?.close();
  try {
    // Errors that escape later are not reported here.
    const { url, declaration } = await importDeclaration(found, { timeoutMs, onLate: () => undefined });
    send({ ok: true, url, exported: toPortable(declaration) });
  } catch (error) {
    const { name, message } = error as Error;
    const reason = name === 'DataCloneError' ? `what is declared must be data: ${message}` : message;
    send({ ok: false, reason });
  }
});

parentPort?.postMessage('ready');

/** Throws, with the path, where the export contains functions below its top level. */
function toPortable(exported: unknown): PortableDeclaration {
  if (!isObject(exported)) throw new Error(noDeclaration(exported));
  const entries = Object.entries(exported);
  const isFunction = ([, value]: [string, unknown]) => typeof value === 'function';
  const data = Object.fromEntries(entries.filter((entry) => !isFunction(entry)));
  const code = placeOfCode(data, '', new Set());
  if (code !== undefined) throw new Error(`${code}, but must be data`);
  return { data, functions: entries.filter(isFunction).map(([name]) => name) };
}

/** The first value that cannot be sent to another thread, as `config.key is a function`. */
function placeOfCode(value: unknown, path: string, seen: Set<unknown>): string | undefined {
  if (typeof value === 'function' || typeof value === 'symbol') return `${path} is ${describeValue(value)}`;
  if (typeof value !== 'object' || value === null || seen.has(value)) return undefined;
  seen.add(value);
  for (const [name, part] of Object.entries(value)) {
    const found = placeOfCode(part, path === '' ? name : `${path}.${name}`, seen);
    if (found !== undefined) return found;
  }
  return undefined;
}
