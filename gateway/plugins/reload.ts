import { performance } from 'node:perf_hooks';
import type { Ajv } from 'ajv';
import type { Group } from '../../pool/group.js';
import { LoadError } from '../../pool/load-faults.js';
import type { PluginModule } from '../../pool/plugin.js';
import type { Pool } from '../../pool/pool.js';
import type { WorkerSettings } from '../../pool/task.js';
import { findRoutes, isBelow, isTouched, type PluginProblem, type RoutedPlugin } from './discover.js';
import { declareInspected, type Inspection, inspectPlugins } from './inspect-plugins.js';
import { withVersions } from './load-helpers.js';
import { builtinPlugins, helperUrl } from './paths.js';
import { configProblems, type Environment, type Helper, type HelperShelf, poolPlugins } from './registry.js';
import type { Spares, SpareThreads } from './spare-threads.js';

interface ReloadOptions extends Omit<LoadGroupOptions, 'beside' | 'signal' | 'spare'> {
  /** Folders of plugins, the package's own not among them. */
  folders: readonly string[];
  shelf: HelperShelf;
  /** The threads on which the shelf's helpers are so far. */
  first: Group;
  /** Has the package's helpers follow into the new threads, so that there are no more for long. */
  together: boolean;
  /** Threads that are started before they are needed. */
  spares?: Spares | undefined;
}

/** What came of a reload; helpers by their ids. */
export interface ReloadReport {
  added: string[];
  reloaded: string[];
  removed: string[];
  /** What could not be loaded, but for what was told before and has not changed. */
  problems: PluginProblem[];
  /** What is left out, likewise. */
  skipped: PluginProblem[];
  ms: number;
}

/** Groups of threads beside the first at most, while all plugins can be loaded. */
const mostGroups = 3;

/** Does one reload, of what a change of these files concerns, or of all. Throws, with nothing changed, where that cannot be. */
export type Reload = (changed: ReadonlySet<string> | undefined, signal: AbortSignal) => Promise<ReloadReport>;

/** Loads plugins anew while calls go on. To be called for one change after another. */
export function createReload(options: ReloadOptions): Reload {
  const { folders, shelf, first, together, spares } = options;
  const groups = new Set([first]);
  /** What could not be loaded. */
  let faults: readonly PluginProblem[] = [];
  let skipped = new Set<string>();

  const reload: Reload = async (changed, signal) => {
    const began = performance.now();
    const before = [...shelf.values()];
    const shipped = before.filter((helper) => helper.shipped);
    const served = before.filter((helper) => !helper.shipped);
    const onDisk = await findRoutes([builtinPlugins, ...folders]);
    const found = onDisk.plugins.filter((plugin) => !plugin.shipped);
    const plan = planReload({
      found,
      problems: onDisk.problems,
      served,
      standing: faults,
      changed: groups.size > mostGroups ? undefined : changed,
    });
    const { loaded, versionOf } = await withVersions(
      folders,
      async (): Promise<LoadedGroup> =>
        plan.load.length > 0
          ? loadGroup(plan.load, {
              ...options,
              signal,
              beside: together ? shipped : [],
              spare: spares?.take(),
            })
          : { helpers: [], problems: [] },
    );
    const { group } = loaded;
    for (const helper of loaded.helpers) helper.version = versionOf(helper);
    if (group) groups.add(group);

    const now = new Map(
      shipped.map((helper) => [helper.id, group && together ? { ...helper, group } : helper]),
    );
    const fresh = new Map(loaded.helpers.map((helper) => [helper.id, helper]));
    const kept = new Map(plan.keep.map((helper) => [helper.id, helper]));
    const old = new Map(served.map((helper) => [helper.id, helper]));
    for (const { id } of [...found, ...plan.keep]) {
      // A version that cannot be loaded leaves the last good one where it is.
      const helper = fresh.get(id) ?? kept.get(id) ?? old.get(id);
      if (helper) now.set(id, helper);
    }
    const told = new Set(shelf.problems().map(keyOf));
    const newlySkipped = onDisk.skipped.filter((each) => !skipped.has(keyOf(each)));
    skipped = new Set(onDisk.skipped.map(keyOf));
    faults = [...plan.standing, ...loaded.problems];
    shelf.replaceAll(now, [...onDisk.problems, ...faults]);
    settle(now);
    return {
      added: [...fresh.keys()].filter((id) => !old.has(id)),
      reloaded: [...fresh.keys()].filter((id) => old.has(id)),
      removed: plan.remove.map(({ id }) => id),
      problems: [...onDisk.problems.filter((problem) => !told.has(keyOf(problem))), ...loaded.problems],
      skipped: newlySkipped,
      ms: performance.now() - began,
    };
  };

  /** Ends the threads that no helper needs any more, when the calls that began there have ended. */
  function settle(now: ReadonlyMap<string, Helper>): void {
    for (const group of groups) {
      const helpers = [...now.values()].filter((helper) => (helper.group ?? first) === group);
      if (helpers.length > 0) group.retain(new Set(helpers.map(({ url }) => url)));
      else {
        groups.delete(group);
        // Its end fails for nobody; the pool ends what is left.
        group.retire().catch(() => undefined);
      }
    }
  }

  return reload;
}

function keyOf({ file, reason }: PluginProblem): string {
  return `${file}\n${reason}`;
}

/** What is on disk, what is served, and what has changed. */
interface ReloadSituation {
  /** Plugins outside the package that have a route, as they lie on disk now. */
  found: readonly RoutedPlugin[];
  /** What was wrong with the files when they were looked for now. */
  problems: readonly PluginProblem[];
  /** Helpers outside the package that are served. */
  served: readonly Helper[];
  /** What could not be loaded before. */
  standing: readonly PluginProblem[];
  /** Files that have changed; all may have where absent. */
  changed?: ReadonlySet<string> | undefined;
}

interface ReloadPlan {
  /** To be loaded anew. */
  load: RoutedPlugin[];
  /** Stay as they are. */
  keep: Helper[];
  /** Go: their files are not there any more. */
  remove: Helper[];
  /** Of what was not loaded before and is not tried again. */
  standing: PluginProblem[];
}

/** Decides which plugins a change concerns. What cannot be read at the moment keeps the version that is served. */
function planReload({ found, problems, served, standing, changed }: ReloadSituation): ReloadPlan {
  const files = new Set([...found, ...served].map(({ file }) => file));
  const touched = (file: string) =>
    changed === undefined || [...changed].some((each) => isTouched(file, each, files));
  const byId = new Map(served.map((helper) => [helper.id, helper]));
  const plan: ReloadPlan = { load: [], keep: [], remove: [], standing: [] };
  for (const plugin of found) {
    const { id, file } = plugin;
    const helper = byId.get(id);
    byId.delete(id);
    const reason = standing.find((problem) => problem.file === file);
    if (touched(file) || (helper?.file !== file && !reason)) plan.load.push(plugin);
    else if (reason) plan.standing.push(reason);
    if (helper && !plan.load.includes(plugin)) plan.keep.push(helper);
  }
  for (const helper of byId.values()) {
    const isHidden = problems.some(({ file }) => helper.file === file || isBelow(file, helper.file));
    (isHidden ? plan.keep : plan.remove).push(helper);
  }
  return plan;
}

interface LoadGroupOptions {
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
interface LoadedGroup {
  helpers: Helper[];
  /** Absent where there is no helper. */
  group?: Group;
  problems: PluginProblem[];
}

/**
 * Loads plugins into fresh threads: looks at them in a thread that is thrown away, compiles what they declare, and has them loaded
 * and set up before any call comes. A plugin that cannot be loaded costs the others nothing. Rejects where `signal` gives it up.
 */
async function loadGroup(plugins: readonly RoutedPlugin[], options: LoadGroupOptions): Promise<LoadedGroup> {
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
