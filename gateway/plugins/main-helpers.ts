import { fileURLToPath } from 'node:url';
import type { Logger } from 'pino';
import { createRedactor, type HelperParts } from '../../pool/context/handler-context.js';
import { setUp } from '../../pool/plugin.js';
import { reportExitDuring } from './import-plugin.js';
import {
  configOf,
  configProblems,
  type Environment,
  type Helper,
  PluginError,
  secretsOf,
} from './registry.js';

export type MainHelpers = ReturnType<typeof createMainHelpers>;

/** Milliseconds after which a start logs which setup it waits for. */
const slowMs = 10_000;

/** Whether the handler of a helper, or its short calls, run on the main thread. */
export function runsOnMain({ declaration, functions }: Pick<Helper, 'declaration' | 'functions'>): boolean {
  return functions !== undefined && (declaration.runs === 'inline' || functions.inline !== undefined);
}

interface MainHelpersOptions {
  /** Where plugins' configuration is set. */
  env: Environment;
  onSlowSetup: SlowSetupNotice;
}

/** Configuration and state of helpers whose calls run on the main thread. */
export function createMainHelpers({ env, onSlowSetup }: MainHelpersOptions) {
  const closing = new AbortController();
  const parts = new WeakMap<Helper, HelperParts>();
  const prepared = new WeakMap<Helper, Promise<void>>();

  /** The same object for each call of a helper. */
  function partsOf(helper: Helper): HelperParts {
    let own = parts.get(helper);
    if (!own) {
      const redactor = createRedactor(secretsOf(helper, env));
      own = { config: configOf(helper, env), state: undefined, redactor };
      parts.set(helper, own);
    }
    return own;
  }

  async function setUpHere(helper: Helper): Promise<void> {
    const problems = configProblems(helper, env);
    if (problems.length > 0) throw new PluginError(problems);
    const { id: service, url, file, functions, shipped = false } = helper;
    const setup = runsOnMain(helper) ? functions?.setup : undefined;
    if (!setup) return;
    const own = partsOf(helper);
    // The interval also keeps the process running, so that a setup that never settles is logged instead of ending the start.
    const waiting = setInterval(onSlowSetup, slowMs, service, url);
    const work = () => setup({ config: own.config, signal: closing.signal });
    try {
      own.state = await reportExitDuring(
        `setting up the plugin ${file}`,
        () => setUp(work, { service, shipped, redactor: own.redactor }),
        // A setup that waits is logged by the interval.
        shipped ? undefined : { limitMs: slowMs + 1_000, ends: false },
      );
    } catch (error) {
      throw new PluginError([{ file, reason: (error as Error).message }]);
    } finally {
      clearInterval(waiting);
    }
  }

  return {
    partsOf,
    /**
     * Runs a helper's `setup` once, if calls of it run on this thread, and puts the state into its parts. Throws a `PluginError` where
     * that fails or a required variable is missing.
     */
    prepare(helper: Helper): Promise<void> {
      const done = prepared.get(helper) ?? setUpHere(helper);
      prepared.set(helper, done);
      return done;
    },
    /** Aborts the signals that `setup` got. */
    close: () => closing.abort(),
  };
}

/** Logs that a plugin, at this url, is not set up yet. */
export type SlowSetupNotice = (service: string, url: string) => void;

/** Logs once for each plugin that a start waits for its `setup`, which has no deadline. */
export function createSlowSetupNotice(logger: Pick<Logger, 'warn'>): SlowSetupNotice {
  const logged = new Set<string>();
  return function notice(service, url) {
    if (logged.has(service)) return;
    logged.add(service);
    logger.warn({ service, file: fileURLToPath(url) }, 'still waiting for the setup of a plugin');
  };
}
