import { performance } from 'node:perf_hooks';
import type { Group } from '../../pool/group.js';
import type { PluginProblem } from './discover.js';
import { findRoutes } from './find-plugins.js';
import type { HelperShelf } from './live-registry.js';
import { type LoadedGroup, type LoadGroupOptions, loadGroup } from './load-group.js';
import { builtinPlugins } from './package-paths.js';
import { planReload } from './plan-reload.js';
import { withVersions } from './plugin-versions.js';
import type { Helper } from './registry.js';
import type { Spares } from './spare-threads.js';

export interface ReloadOptions extends Omit<LoadGroupOptions, 'beside' | 'signal' | 'spare'> {
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
