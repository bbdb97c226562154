import { setImmediate, setTimeout } from 'node:timers/promises';
import type { Logger } from 'pino';
import { HandlerContext } from '../../pool/context/handler-context.js';
import { readThrown } from '../../pool/errors.js';
import type { Pool } from '../../pool/pool.js';
import { loadColorNames } from '../../schemas/keywords/color-phrase.js';
import { loadUndici } from '../download/connection.js';
import type { HelperContext } from '../helper.js';
import { noKeyLimits, noLimits } from '../keys/model.js';
import { reportExitDuring } from '../plugins/import-plugin.js';
import type { Helper, Registry } from '../plugins/registry.js';
import { createKindOf } from './price.js';
import { MainScope, mayBeShort, type RunOptions, runShort } from './run-helper.js';
import type { Caller } from './stage.js';

interface FirstCallsOptions {
  registry: Registry;
  pool: Pick<Pool, 'stats' | 'warm'>;
  inline: RunOptions;
  logger: Pick<Logger, 'error'>;
}

/** Early calls go first, but hold up the other threads for this time at most. */
const longestPoolWaitMs = 1_000;
const waitMs = 20;

/** Loads what the first calls of most gateways need, and starts the remaining threads, once the gateway is ready. */
export function loadForFirstCalls({ registry, pool, inline, logger }: FirstCallsOptions) {
  let isClosed = false;
  const helpers = [...registry.values()];
  const steps = [
    ...helpers.map((helper) => () => helper.parameters.prepare()),
    ...helpers.filter(({ shipped }) => shipped).map((helper) => () => warmUp([helper], inline)),
    loadUndici,
    loadColorNames,
    () => pool.warm(),
  ];

  async function load(): Promise<void> {
    const latest = Date.now() + longestPoolWaitMs;
    for (const step of steps) {
      // First the start's own output; and a call waits for one step at most.
      await setImmediate();
      while (pool.stats().places > 0 && Date.now() < latest) await setTimeout(waitMs);
      if (isClosed) return;
      await step();
    }
  }

  load().catch((error) => {
    if (!isClosed) logger.error({ err: error }, 'what the first calls need could not be loaded');
  });
  return {
    close() {
      isClosed = true;
    },
  };
}

const tenant = { id: 'warm-up', name: 'warm-up', weight: 1, limits: noLimits };
const caller: Caller = { tenant, keyId: 'warm-up', keyLimits: noKeyLimits, scopes: null };

/** Runs the examples of helpers with short calls once, to compile code and build tables: some 10 ms. Logs failures. */
export async function warmUp(helpers: Iterable<Helper>, options: RunOptions): Promise<void> {
  for (const helper of helpers) {
    const { id: service, file, declaration, functions, parameters, shipped } = helper;
    const parts = options.helpers.partsOf(helper);
    const kindOf = createKindOf(helper);
    if (!mayBeShort(functions) || declaration.effects) continue;
    for (const { input: example } of declaration.examples) {
      const { input, problems } = parameters.check(example, { dryrun: false });
      // An example of a dry run may lack parameters.
      if (problems.length > 0) continue;
      const state = { taskMs: 0, bytesIn: 0, signal: new AbortController().signal };
      const call = { state, input, caller };
      const scope = new MainScope(call, { service, request_id: 'warm-up' }, options, parts);
      const its = { scope, context: new HandlerContext(scope, parts) as HelperContext, kind: kindOf(input) };
      // Twice: the first time says what it costs to compile, and not what calls cost.
      const { costs, ...unlearnt } = options;
      const run = async () => {
        await runShort(functions, call, its, { ...unlearnt, shipped });
        if (shipped) await runShort(functions, call, its, { ...options, shipped });
      };
      // Keeps the process running until the timeout of an example that never settles.
      const awake = setInterval(() => {}, options.timeoutMs);
      try {
        const blocked = shipped ? undefined : { limitMs: options.timeoutMs + 1_000, ends: true };
        await reportExitDuring(`running an example of the plugin ${file}`, run, blocked);
      } catch (error) {
        const reason = (error as Error).cause ?? error;
        options.logger.error({ err: readThrown(reason), service, example }, 'example failed');
      } finally {
        clearInterval(awake);
      }
    }
  }
}
