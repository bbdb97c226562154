import type { PluginProblem } from './discover.js';
import type { RoutedPlugin } from './find-plugins.js';
import { isBelow, isTouched } from './is-touched.js';
import type { Helper } from './registry.js';

/** What is on disk, what is served, and what has changed. */
export interface ReloadSituation {
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

export interface ReloadPlan {
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
export function planReload({ found, problems, served, standing, changed }: ReloadSituation): ReloadPlan {
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
