import type { WorkerReport } from '../../pool/task.js';
import type { Cache } from '../cache/cache.js';
import { identifyEngine } from '../cache/engine-identity.js';
import { createResults } from '../cache/results.js';
import { version as packageVersion } from '../helpers/version.js';
import type { ReuseParts } from './reuse.js';
import type { RunOptions } from './run-here.js';

/** Where results are kept, and what helpers are given. */
interface Kept {
  cache: Cache;
  inline: Pick<RunOptions, 'helpers'>;
}

/** Makes what `reuse` needs, for gateways with this engine. */
export async function openReuse(
  { cache, inline }: Kept,
  engine: WorkerReport,
  { fonts, cacheTtlSeconds }: { fonts: readonly string[]; cacheTtlSeconds: number },
): Promise<ReuseParts> {
  return {
    results: createResults(cache),
    engine: await identifyEngine(engine, { packageVersion, fonts }),
    ttlSeconds: cacheTtlSeconds,
    configOf: (helper) => inline.helpers.partsOf(helper).config,
  };
}
