import type { Ajv } from 'ajv';
import type { Group } from '../../pool/group.js';
import { LoadError } from '../../pool/load-error.js';
import type { PluginModule } from '../../pool/plugin-module.js';
import type { Pool } from '../../pool/pool.js';
import type { WorkerSettings } from '../../pool/task.js';
import type { PluginProblem } from './discover.js';
import type { RoutedPlugin } from './find-plugins.js';
import { configProblems, type Environment } from './helper-config.js';
import { declareInspected, type Inspection, inspectPlugins } from './inspect-plugins.js';
import { helperUrl } from './package-paths.js';
import { type Helper, poolPlugins } from './registry.js';
import type { SpareThreads } from './spare-threads.js';

export interface LoadGroupOptions {
  pool: Pick<Pool, 'open'>;
  /** A fresh one for each reload: it keeps what it has compiled for good. */
  createVocabulary: () => Ajv | Promise<Ajv>;
  /** Where plugins' configuration is set. */
  env: Environment;
  /** What is loaded into the same threads besides. */
  beside: readonly Helper[];
  /** Of the threads, where they differ from the pool's first. */
  worker: Partial<WorkerSettings>;
  /** Milliseconds that an import may take. */
  importMs: number;
  /** Threads that are started already, for the plugins to be looked at and loaded in. */
  spare?: SpareThreads | undefined;
  /** Gives it up. */
  signal: AbortSignal;
}

/** Helpers in threads of their own, and why others could not be loaded. */
export interface LoadedGroup {
  helpers: Helper[];
  /** Absent where there is no helper. */
  group?: Group;
  problems: PluginProblem[];
}

/**
 * Loads plugins into fresh threads: looks at them in a thread that is thrown away, compiles what they declare, and has them loaded
 * and set up before any call comes. A plugin that cannot be loaded costs the others nothing. Rejects where `signal` gives it up.
 */
export async function loadGroup(
  plugins: readonly RoutedPlugin[],
  options: LoadGroupOptions,
): Promise<LoadedGroup> {
  const { beside, createVocabulary, env, importMs, signal, spare } = options;
  const inspector = { helperUrl: helperUrl(plugins.map(({ file }) => file)), timeoutMs: importMs };
  const looking = Promise.all([
    inspectPlugins(plugins, inspector, signal, spare?.inspector),
    createVocabulary(),
  ]).then(([inspections, vocabulary]) => compileAll(inspections, vocabulary, env));
  const start = (helpers: Promise<readonly Helper[]>, ready?: SpareThreads) => {
    const opening = openThreads(
      helpers.then((known) => modulesOf(known, beside, env)),
      { ...options, spare: ready },
    );
    opening.catch(() => undefined);
    return opening;
  };
  // The threads start while the plugins are looked at.
  let opening = start(
    looking.then(({ helpers }) => helpers),
    spare,
  );
  const { problems, ...looked } = await looking;
  let { helpers } = looked;
  for (;;) {
    try {
      const group = await opening;
      return { helpers: helpers.map((helper) => ({ ...helper, group })), group, problems };
    } catch (error) {
      if (helpers.length === 0) return { helpers, problems };
      const faulty = helpers.find(({ id }) => error instanceof LoadError && error.service === id);
      if (!faulty) throw error;
      problems.push({ file: faulty.file, reason: (error as Error).message });
      helpers = helpers.filter((helper) => helper !== faulty);
      opening = start(Promise.resolve(helpers));
    }
  }
}

/** Throws where there is nothing to be loaded: the threads are not needed then. */
function modulesOf(helpers: readonly Helper[], beside: readonly Helper[], env: Environment): PluginModule[] {
  if (helpers.length === 0) throw new Error('there is nothing to be loaded');
  return poolPlugins(new Map([...beside, ...helpers].map((helper) => [helper.id, helper])), env);
}

/** Threads that are started for nothing are ended when they have come. */
function openThreads(
  plugins: Promise<PluginModule[]>,
  { pool, worker, signal, spare }: LoadGroupOptions,
): Promise<Group> {
  const opening = spare?.open(plugins) ?? pool.open({ ...worker, plugins }, { attempts: 1 });
  return new Promise((resolve, reject) => {
    const giveUp = () => {
      reject(signal.reason);
      void opening.then((group) => group.close()).catch(() => undefined);
    };
    if (signal.aborted) giveUp();
    signal.addEventListener('abort', giveUp, { once: true });
    opening.then(resolve, reject).finally(() => signal.removeEventListener('abort', giveUp));
  });
}

function compileAll(
  inspections: ReadonlyMap<RoutedPlugin, Inspection>,
  ajv: Ajv,
  env: Environment,
): Pick<LoadedGroup, 'helpers' | 'problems'> {
  const helpers: Helper[] = [];
  const problems: PluginProblem[] = [];
  for (const [found, inspection] of inspections) {
    try {
      const helper = declareInspected(found, inspection, ajv);
      const missing = configProblems(helper, env);
      problems.push(...missing);
      if (missing.length === 0) helpers.push(helper);
    } catch (error) {
      problems.push({ file: found.file, reason: (error as Error).message });
    }
  }
  return { helpers, problems };
}
