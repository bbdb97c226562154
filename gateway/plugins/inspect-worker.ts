/** The entry of a thread that imports plugins to read their declarations; no call runs here. */
import { parentPort, workerData } from 'node:worker_threads';
import { hookPlugins } from '../../pool/plugin-hooks.js';
import type { RoutedPlugin } from './discover.js';
import { importDeclaration } from './import-plugin.js';
import type { Inspection, InspectorData } from './inspect-plugins.js';
import { toPortable } from './portable-declaration.js';

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
    send({
      ok: false,
      reason: name === 'DataCloneError' ? `what is declared must be data: ${message}` : message,
    });
  }
});

parentPort?.postMessage('ready');
