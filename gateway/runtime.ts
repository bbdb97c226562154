import type { Logger } from 'pino';
import type { StopReason } from '../pool/fair-queue.js';
import type { ImageLimits } from '../pool/image/engine.js';
import { engineToBe } from '../pool/image/formats.js';
import type { Pool } from '../pool/pool.js';
import { type Cache, createCache } from './cache.js';
import type { Closers } from './closers.js';
import type { Config } from './config.js';
import type { CachedFile } from './download/exchange.js';
import { createSource, type Source } from './download/fetch.js';
import { createSourceFiles, type SourceFiles } from './download/source-files.js';
import { createInboundBudget, type InboundBudget } from './http/inbound-budget.js';
import { largestUpload, type MultipartLimits } from './http/multipart.js';
import { createFetchForCall } from './pipeline/main-scope.js';
import type { RunOptions } from './pipeline/run-helper.js';
import { createHelperLog } from './plugins/helper-log.js';
import { createHelperPool } from './plugins/helper-pool.js';
import { type LoadHelpersOptions, loadHelpers } from './plugins/load-helpers.js';
import { createMainHelpers, createSlowSetupNotice } from './plugins/main-helpers.js';
import { builtinPlugins } from './plugins/paths.js';
import type { Environment, Registry } from './plugins/registry.js';

/** What helpers need to be called in this process, whoever asks. */
export interface Runtime {
  loading: Promise<Registry>;
  /** Not started yet. */
  pool: Pool;
  files: SourceFiles;
  cache: Cache;
  /** Bodies and downloads on their way. */
  inboundBudget: InboundBudget;
  imageLimits: ImageLimits;
  bodyLimits: MultipartLimits;
  inline: RunOptions;
}

export interface RuntimeOptions {
  config: Config;
  logger: Logger;
  closers: Closers;
  /** Where plugins' own configuration is set. */
  env: Environment;
  /** Asks of a helper what it needs, and loads it, when it is first called; by default at the start. */
  onDemand?: boolean;
  /** Called with each plugin's file that cannot be loaded, which is left out then; without it the start ends. */
  onProblem?: LoadHelpersOptions['onProblem'];
  /** When plugins may be read; at once where absent. */
  mayLoad?: Promise<unknown> | undefined;
  /** Stands before the network; whatever is public is fetched by default. */
  guardSource?: ((source: Source) => Source) | undefined;
  /** Why no task of this tenant may start; any may by default. */
  stopOf?: (tenant: string) => StopReason | undefined;
}

/** Makes it by the configuration: the helpers of its folders begin to load, and what is opened is left to `closers`. */
export function openRuntime(options: RuntimeOptions): Runtime {
  const { config, logger, closers, env, onDemand = false, onProblem, stopOf = () => undefined } = options;
  const cache = createCache(config.cacheBytes);
  const folders = [builtinPlugins, ...config.pluginDirs];
  const imageLimits = { maxPixels: config.maxPixels, maxFrames: config.maxFrames };
  const bodyLimits = { maxTextBytes: config.maxTextBytes, maxFileBytes: config.maxImageBytes };
  // An answer grows with its text: escaped, and in a diff said twice.
  const maxJsonBytes = 4 * config.maxTextBytes;
  // So that the answers of several tenants fit into what may wait to be sent.
  const maxBodyBytes = Math.floor(config.outputBytes / 4);
  const inboundBudget = closers.own(
    createInboundBudget({
      most: config.arriving,
      bytes: config.inputBytes,
      largest: Math.max(largestUpload(bodyLimits), config.maxJobBytes),
    }),
  );
  const { guardSource = (opened) => opened } = options;
  const cachedFiles = cache.namespace<CachedFile>('source');
  const source = guardSource(
    closers.own(
      createSource({
        origins: config.sourceOrigins,
        timeoutMs: config.sourceTimeoutMs,
        maxBytes: config.maxImageBytes,
        cache: cachedFiles,
      }),
    ),
  );
  const files = createSourceFiles({ source, inboundBudget, count: cachedFiles.count });
  // Threads that start when they are needed may not have by then, and be needed for nothing else.
  const engine = () => pool.engine() ?? (onDemand ? engineToBe(config.imageEngine) : undefined);
  const { fonts } = config;
  const loading = loadHelpers({
    folders,
    fonts,
    engine,
    logger,
    onProblem,
    mayLoad: options.mayLoad,
    ...(onDemand ? {} : { env }),
  });
  const onSlowSetup = createSlowSetupNotice(logger);
  const pool = closers.own(
    createHelperPool({
      config,
      folders,
      loading,
      imageLimits,
      maxJsonBytes,
      maxBodyBytes,
      stopOf,
      logger,
      env,
      onDemand,
      onSlowSetup,
    }),
  );
  const helpers = closers.own(createMainHelpers({ env, onSlowSetup }));
  const inline: RunOptions = {
    timeoutMs: config.taskTimeoutMs,
    maxJsonBytes,
    maxBodyBytes,
    logger,
    helpers,
    fetch: createFetchForCall(source, inboundBudget),
    log: { logLevel: logger.level, write: createHelperLog(logger) },
  };
  return { loading, pool, files, cache, inboundBudget, imageLimits, bodyLimits, inline };
}
