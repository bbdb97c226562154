import type { HelperParts } from '../../pool/context/handler-context.js';
import { loadConfig } from '../config.js';
import type { Helper } from '../helpers/registry.js';
import { largestUpload } from '../http/body/multipart.js';
import { createArrivals } from '../http/flow/arrivals.js';
import { createLocalHelpers, type LocalHelpers } from '../local/local-helpers.js';
import { createFetchForCall } from '../pipeline/call-fetch.js';
import { createSourceFiles } from '../source/source-files.js';
import type { Bench } from './bench.js';
import { createFakeSource } from './fake-source.js';
import type { KnownHelper } from './known-helper.js';
import { readLine } from './logged-line.js';
import { inThisThread } from './this-thread.js';
import type { CallOptions } from './types.js';

export interface OpenHelper extends Pick<LocalHelpers, 'call' | 'close'> {
  helper: Helper;
}

export interface OpenHelperOptions extends Pick<CallOptions, 'fetch' | 'log'> {
  service: string;
  parts: HelperParts;
  /** Told what the handler has thrown, which is data from there on. */
  onThrown: (error: unknown) => void;
}

/**
 * The gateway's own stages around one helper, by the gateway's default limits, but with this thread in the place of the pool and a
 * test in that of the network.
 */
export function openHelper(
  { helper: known, plugin, abilities }: KnownHelper,
  bench: Bench,
  { service, parts, fetch, log, onThrown }: OpenHelperOptions,
): OpenHelper {
  const config = loadConfig({});
  const imageLimits = { maxPixels: config.maxPixels, maxFrames: config.maxFrames };
  const bodyLimits = { maxTextBytes: config.maxTextBytes, maxFileBytes: config.maxImageBytes };
  const maxJsonBytes = 4 * config.maxTextBytes;
  const maxBodyBytes = Math.floor(config.outputBytes / 4);
  const timeoutMs = config.taskTimeoutMs;
  const arrivals = createArrivals({
    most: config.arriving,
    bytes: config.inputBytes,
    largest: largestUpload(bodyLimits),
  });
  const source = createFakeSource(fetch);
  const write = log ? (line: Parameters<typeof readLine>[0]) => log(readLine(line)) : () => undefined;
  const helper: Helper = { ...known, id: service };
  const pool = inThisThread({
    plugin,
    parts,
    abilities,
    // Asked for only where there is a picture.
    get engine() {
      return bench.engine();
    },
    limits: imageLimits,
    maxJsonBytes,
    maxBodyBytes,
    timeoutMs,
    onLog: write,
    onThrown,
  });
  const local = createLocalHelpers({
    registry: new Map([[service, helper]]),
    pool,
    files: createSourceFiles({ source, arrivals }),
    imageLimits,
    bodyLimits,
    inline: {
      timeoutMs,
      maxJsonBytes,
      logger: { error: () => undefined },
      // All of its calls are the pool's.
      helpers: { partsOf: () => parts, prepare: async () => undefined, close: () => undefined },
      fetch: createFetchForCall(source, arrivals),
      log: { logLevel: 'silent', write },
    },
    close: async () => arrivals.close(),
  });
  return { helper, call: local.call, close: local.close };
}
