import type { Logger } from 'pino';
import type { Pool } from '../../pool/pool.js';
import { openTogether } from '../closers.js';
import type { Config } from '../config.js';
import { createLocalHelpers, type LocalHelpers } from '../local-helpers.js';
import type { Environment, Helper, Registry } from '../plugins/registry.js';
import { openRuntime, type RuntimeOptions } from '../runtime.js';

export interface LocalOptions extends Pick<RuntimeOptions, 'guardSource' | 'onProblem'> {
  /** Has whatever a plugin does done by worker threads, where its deadline can end it. They take longer to start than most calls. */
  allInWorkers?: boolean;
}

/**
 * Opens the helpers of the configuration's folders in this process, with worker threads and the guarded download, but without
 * a server or a database. Throws what a start throws, with everything closed again.
 */
export async function openLocalHelpers(
  config: Config,
  logger: Logger,
  env: Environment = process.env,
  { guardSource, onProblem, allInWorkers = false }: LocalOptions = {},
): Promise<LocalHelpers> {
  return openTogether(async (closers) => {
    // Nobody is to find here what an earlier call has brought: who tests a helper has it work each time.
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

/**
 * The helpers with all that their authors wrote run by worker threads, also what says `runs: 'inline'`: a deadline ends an endless
 * loop there, and here nothing would.
 */
export function inWorkers(registry: Registry): Registry {
  return new Map([...registry].map(([id, helper]) => [id, inWorker(helper)]));
}

function inWorker({ functions, ...helper }: Helper): Helper {
  const { inline, handler } = functions ?? {};
  if (!inline || !handler) return helper;
  // Asked all the same, so that a verdict that is none is found; what is short goes to the worker with the rest.
  const verdict = (input: unknown) => {
    const given = inline(input);
    return typeof given === 'boolean' ? false : given;
  };
  return { ...helper, functions: { handler, inline: verdict } };
}

/** A pool whose threads are started by the first task: a call that needs none is spared the wait and the processor's time. */
export function lazyPool(pool: Pick<Pool, 'start' | 'turn'>): Pick<Pool, 'turn'> {
  let failed: Promise<never> | undefined;

  /** Rejects where the threads cannot start, else never settles. */
  function start(): Promise<never> {
    failed ??= pool.start().then(() => new Promise<never>(() => {}));
    return failed;
  }

  return {
    turn(...asked) {
      const turn = pool.turn(...asked);
      return { ...turn, run: (task, host) => Promise.race([turn.run(task, host), start()]) };
    },
  };
}
