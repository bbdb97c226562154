import type { WorkerSettings } from '../../pool/task.js';

/** What a pool's workers are started with where a test does not care. */
export const workerSettings: WorkerSettings = {
  engine: 'auto',
  limits: { maxPixels: 1e6, maxFrames: 10 },
  fonts: [],
  taskTimeoutMs: 60_000,
  maxJsonBytes: 4e6,
};
