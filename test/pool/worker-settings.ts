import type { WorkerSettings } from '../../pool/task.js';

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
