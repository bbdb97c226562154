import { fileURLToPath } from 'node:url';
import type { Logger } from 'pino';
import { createRedactor } from '../../pool/context/call-scope.js';
import type { HelperParts } from '../../pool/context/handler-context.js';
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

/** What helpers keep on the main thread for their calls there. */
export interface MainHelpers {
  /** Of each helper always the same object. */
  partsOf(helper: Helper): HelperParts;
  /**
   * Runs a helper's `setup`, once, where calls of it run on this thread; its state is the parts' from then on. Throws a `PluginError`
   * where that fails, or where the environment lacks what the helper cannot do without.
   */
  prepare(helper: Helper): Promise<void>;
  /** Tells what plugins have set up that the end has come. */
  close(): void;
}

/** After so long a start says what it waits for. */
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

export function createMainHelpers({ env, onSlowSetup }: MainHelpersOptions): MainHelpers {
  const closing = new AbortController();
  const parts = new WeakMap<Helper, HelperParts>();
  const prepared = new WeakMap<Helper, Promise<void>>();

  function partsOf(helper: Helper): HelperParts {
    let own = parts.get(helper);
    if (!own) {
      own = {
        config: configOf(helper, env),
        state: undefined,
        redactor: createRedactor(secretsOf(helper, env)),
      };
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
    // It keeps the process running, too: what never settles is to be named, not to end the start without a word.
    const waiting = setInterval(onSlowSetup, slowMs, service, url);
    const work = () => setup({ config: own.config, signal: closing.signal });
    try {
      own.state = await reportExitDuring(
        `setting up the plugin ${file}`,
        () => setUp(work, { service, shipped, redactor: own.redactor }),
        // While it waits for something the interval says so.
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
    prepare(helper) {
      let done = prepared.get(helper);
      if (!done) {
        done = setUpHere(helper);
        prepared.set(helper, done);
      }
      return done;
    },
    close: () => closing.abort(),
  };
}

/** Tells of a helper whose plugin, at this url, is not set up yet. */
export type SlowSetupNotice = (service: string, url: string) => void;

/** Says of a plugin, once, that a start waits for its `setup`: it has no deadline, and nothing else would tell. */
export function createSlowSetupNotice(logger: Pick<Logger, 'warn'>): SlowSetupNotice {
  const told = new Set<string>();
  return function tell(service, url) {
    if (told.has(service)) return;
    told.add(service);
    logger.warn({ service, file: fileURLToPath(url) }, 'still waiting for the setup of a plugin');
  };
}
