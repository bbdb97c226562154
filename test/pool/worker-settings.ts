import { pathToFileURL } from 'node:url';
import type { CallTask, WorkerSettings } from '../../pool/task.js';
import { fixture } from '../fixtures.js';

/**
 * What a pool's workers are started with where a test does not care. They load no engine before a picture comes, for that is most of
 * what a thread costs; the first one's task waits for it. Of the two, sharp costs half as much to load.
 */
export const workerSettings: WorkerSettings = {
  engine: 'sharp',
  lean: true,
  limits: { maxPixels: 1e6, maxFrames: 10 },
  fonts: [],
  taskTimeoutMs: 60_000,
  maxJsonBytes: 4e6,
};

/** A call of one of the pool's fixture plugins. */
export function callTask(plugin: string, input: Record<string, unknown> = {}): CallTask {
  return {
    kind: 'call',
    plugin: pathToFileURL(fixture(`plugins/pool/${plugin}.mjs`)).href,
    does: 'handler',
    input,
    context: { service: plugin, request_id: 'r' },
  };
}
