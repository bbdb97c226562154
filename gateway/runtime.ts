import type { Logger } from 'pino';
import type { StopReason } from '../pool/fair-queue.js';
import { engineToBe } from '../pool/image/options.js';
import { createCache } from './cache.js';
import type { Closers } from './closers.js';
import type { Config } from './config.js';
import type { CachedFile } from './download/exchange.js';
import { createSource, type Source } from './download/fetch.js';
import { createSourceFiles } from './download/source-files.js';
import { createInboundBudget } from './http/inbound-budget.js';
import { largestUpload } from './http/multipart.js';
import { createFetchForCall, type RunOptions } from './pipeline/run-helper.js';
import { createHelperLog } from './plugins/helper-log.js';
import { createHelperPool } from './plugins/helper-pool.js';
import { type LoadHelpersOptions, loadHelpers } from './plugins/load-helpers.js';
import { createMainHelpers, createSlowSetupNotice } from './plugins/main-helpers.js';
import { builtinPlugins } from './plugins/paths.js';
import type { Environment } from './plugins/registry.js';

/** What calls of helpers need in this process. */
export type Runtime = ReturnType<typeof openRuntime>;

export interface RuntimeOptions {
  config: Config;
  logger: Logger;
  closers: Closers;
  /** Where plugins' own configuration is set. */
  env: Environment;
  /** Loads a helper into threads and checks its variables at its first call, instead of at the start. */
  onDemand?: boolean;
  /** Called with each plugin's file that cannot be loaded, which is left out then; without it the start ends. */
  onProblem?: LoadHelpersOptions['onProblem'] | undefined;
  /** When plugins may be read; at once where absent. */
  mayLoad?: Promise<unknown> | undefined;
  /** Wraps the download; by default everything public is fetched. */
  guardSource?: ((source: Source) => Source) | undefined;
  /** Why no task of this tenant may start; any may by default. */
  stopOf?: ((tenant: string) => StopReason | undefined) | undefined;
}

/** Opens it, its pool not started yet, and begins to load the helpers of its folders. `closers` close what is opened. */
export function openRuntime(options: RuntimeOptions) {
  const { config, logger, closers, env, onDemand = false, onProblem, stopOf = () => undefined } = options;
  const cache = createCache(config.cacheBytes);
  const folders = [builtinPlugins, ...config.pluginDirs];
  const imageLimits = { maxPixels: config.maxPixels, maxFrames: config.maxFrames };
  const bodyLimits = { maxTextBytes: config.maxTextBytes, maxFileBytes: config.maxImageBytes };
  // An answer grows with its text: it is escaped, and a diff contains it twice.
  const maxJsonBytes = 4 * config.maxTextBytes;
  // So that answers of several tenants fit into the outbound budget.
  const maxBodyBytes = Math.floor(config.outputBytes / 4);
  const inboundBudget = closers.own(
    createInboundBudget({
      most: config.arriving,
      bytes: config.inputBytes,
      largest: Math.max(largestUpload(bodyLimits), config.maxJobBytes),
    }),
  );
  const cachedFiles = cache.namespace<CachedFile>('source');
  const opened = closers.own(
    createSource({
      origins: config.sourceOrigins,
      timeoutMs: config.sourceTimeoutMs,
      maxBytes: config.maxImageBytes,
      cache: cachedFiles,
    }),
  );
  const source = options.guardSource?.(opened) ?? opened;
  const files = createSourceFiles({ source, inboundBudget, count: cachedFiles.count });
  // On demand, no thread may have started by then.
  const engine = () => pool.engine() ?? (onDemand ? engineToBe(config.imageEngine) : undefined);
  const loaded = loadHelpers({
    folders,
    fonts: config.fonts,
    engine,
    logger,
    onProblem,
    mayLoad: options.mayLoad,
    ...(onDemand ? {} : { env }),
  });
  const loading = loaded.then(({ registry }) => registry);
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
    costs: pool.costs,
    fetch: createFetchForCall(source, inboundBudget),
    log: { logLevel: logger.level, write: createHelperLog(logger) },
  };
  return { loaded, loading, pool, files, cache, inboundBudget, imageLimits, bodyLimits, inline };
}
