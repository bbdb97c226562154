import { join, resolve } from 'node:path';
import type { Config } from '../../config.js';
import { createFolderStore } from './folder-store.js';
import type { ResultStore } from './result-store.js';

/**
 * Opens the store that the configuration names. Nothing is asked of it yet, so one that is away stops no start; a configuration with
 * which none can be opened rejects with a `ConfigError`.
 */
export async function openResults(config: Config): Promise<ResultStore> {
  if (config.resultsUrl === undefined) return createFolderStore(resolve(join(config.dataDir, 'results')));
  // Most gateways need none of what it brings along.
  const { openS3Results } = await import('./s3/open-s3.js');
  return openS3Results(config.resultsUrl, config);
}
