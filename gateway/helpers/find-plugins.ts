import {
  type DiscoveredPlugins,
  discoverPlugins,
  type FoundPlugin,
  hiddenBy,
  type PluginProblem,
} from './discover.js';
import { builtinPlugins } from './package-paths.js';
import { reservedProblem } from './route-rules.js';

/** A plugin that has a route of its own. */
export interface RoutedPlugin extends FoundPlugin {
  /** Whether it comes with the package. */
  shipped: boolean;
}

/** Plugins with a route, and what is wrong with other files. */
export interface FoundPlugins extends DiscoveredPlugins {
  plugins: RoutedPlugin[];
}

/** Finds the plugins below folders, in their order; several may want one route. */
export async function findPlugins(folders: readonly string[]): Promise<FoundPlugins> {
  const plugins: RoutedPlugin[] = [];
  const problems: PluginProblem[] = [];
  const skipped: PluginProblem[] = [];
  for (const folder of folders) {
    const found = await discoverPlugins(folder);
    problems.push(...found.problems);
    skipped.push(...found.skipped);
    // The package's own have nothing to hide.
    if (folder !== builtinPlugins) skipped.push(...(await Promise.all(found.plugins.map(hiddenBy))).flat());
    for (const plugin of found.plugins) {
      const reason = reservedProblem(plugin.id);
      if (reason !== undefined) problems.push({ file: plugin.file, reason });
      else plugins.push({ ...plugin, shipped: folder === builtinPlugins });
    }
  }
  return { plugins, problems, skipped };
}

/** The same, with each route given to the first that wants it. */
export async function findRoutes(folders: readonly string[]): Promise<FoundPlugins> {
  const { plugins, problems, skipped } = await findPlugins(folders);
  const routes = new Map<string, RoutedPlugin>();
  for (const plugin of plugins) {
    const taken = routes.get(plugin.id);
    if (taken) problems.push(routeTaken(plugin, taken));
    else routes.set(plugin.id, plugin);
  }
  return { plugins: [...routes.values()], problems, skipped };
}

/** What is told of a plugin whose route another one has. */
export function routeTaken({ id, file }: FoundPlugin, taken: { file: string }): PluginProblem {
  return { file, reason: `the route /${id} is taken by ${taken.file}` };
}
