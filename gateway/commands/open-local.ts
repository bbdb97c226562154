import type { Logger } from 'pino';
import type { Pool } from '../../pool/pool.js';
import { openTogether } from '../closers.js';
import type { Config } from '../config.js';
import { createLocalHelpers, type LocalHelpers } from '../local-helpers.js';
import type { Environment, Helper, Registry } from '../plugins/registry.js';
import { openRuntime, type RuntimeOptions } from '../runtime.js';

interface LocalOptions extends Pick<RuntimeOptions, 'guardSource' | 'onProblem'> {
  /** Runs all plugin code in worker threads, where a deadline can end it. They take longer to start than most calls run. */
  allInWorkers?: boolean;
}

/** Opens helpers in this process, without a server or a database. Throws what a start throws, all closed again. */
export async function openLocalHelpers(
  config: Config,
  logger: Logger,
  env: Environment = process.env,
  { guardSource, onProblem, allInWorkers = false }: LocalOptions = {},
): Promise<LocalHelpers> {
  return openTogether(async (closers) => {
    // No cached downloads or results: each call does its work.
    const local = { ...config, cacheBytes: 0 };
    const work = openRuntime({ config: local, logger, closers, env, guardSource, onProblem, onDemand: true });
    return createLocalHelpers({
      ...work,
      registry: allInWorkers ? inWorkers(await work.loading) : await work.loading,
      pool: lazyPool(work.pool),
      close: () => closers.close(),
    });
  });
}

/** Has worker threads run all handlers, `runs: 'inline'` too: only there a deadline ends an endless loop. */
function inWorkers(registry: Registry): Registry {
  return new Map([...registry].map(([id, helper]) => [id, inWorker(helper)]));
}

function inWorker({ functions, ...helper }: Helper): Helper {
  const { inline, handler } = functions ?? {};
  if (!inline || !handler) return helper;
  // Still called, so that a result that is no boolean is found.
  const neverInline = (input: unknown) => {
    const result = inline(input);
    return typeof result === 'boolean' ? false : result;
  };
  return { ...helper, functions: { handler, inline: neverInline } };
}

/** A pool whose threads are started by the first task: a call that needs none does not wait for their start. */
function lazyPool(pool: Pick<Pool, 'start' | 'ticket'>): Pick<Pool, 'ticket'> {
  let failed: Promise<never> | undefined;

  /** Rejects where the threads cannot start, else never settles. */
  function start(): Promise<never> {
    failed ??= pool.start().then(() => new Promise<never>(() => {}));
    return failed;
  }

  return {
    ticket(...options) {
      const ticket = pool.ticket(...options);
      return { ...ticket, run: (...task) => Promise.race([ticket.run(...task), start()]) };
    },
  };
}
