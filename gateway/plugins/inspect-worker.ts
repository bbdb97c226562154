/**
 * The entry of a thread that imports plugins to see what they declare; no call ever runs here. It imports no more than that takes:
 * whoever has saved a file waits for it.
 */
import { parentPort, workerData } from 'node:worker_threads';
import { hookPlugins } from '../../pool/plugin-hooks.js';
import type { RoutedPlugin } from './discover.js';
import { importDeclaration } from './import-plugin.js';
import type { Inspection, InspectorData } from './inspect-plugins.js';
import { toPortable } from './portable-declaration.js';

const { helperUrl, timeoutMs } = workerData as InspectorData;
if (helperUrl) hookPlugins(helperUrl);

parentPort?.on('message', async (found: RoutedPlugin | 'end') => {
  // It ends when nothing is open any more.
  if (found === 'end') return parentPort?.close();
  try {
    // What comes late is told by the threads that serve the plugin, too.
    const { url, declaration } = await importDeclaration(found, { timeoutMs, onLate: () => undefined });
    tell({ ok: true, url, exported: toPortable(declaration) });
  } catch (error) {
    const { name, message } = error as Error;
    tell({
      ok: false,
      reason: name === 'DataCloneError' ? `what is declared must be data: ${message}` : message,
    });
  }
});

parentPort?.postMessage('ready');

function tell(inspection: Inspection): void {
  parentPort?.postMessage(inspection);
}
