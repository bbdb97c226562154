import type { Ajv } from 'ajv';
import { hookPlugins } from '../../pool/plugin-hooks.js';
import { findPlugins, type PluginProblem, type RoutedPlugin } from './discover.js';
import { importDeclaration, watchImports } from './import-plugin.js';
import { declareHelper, declareInspected, inspectPlugins } from './inspect-plugins.js';
import { helperUrl } from './paths.js';
import { createPipeline } from './recipes/pipeline.js';
import {
  configProblems,
  type Environment,
  type Helper,
  type HelperFunctions,
  PluginError,
  type Registry,
} from './registry.js';

export interface LoadRegistryOptions {
  onLate?: (id: string, error: unknown) => void;
  env?: Environment | undefined;
  /**
   * Imports outside plugins in a separate thread, which can end an endless import after so many milliseconds. Their functions cannot
   * be called then.
   */
  lookMs?: number | undefined;
  /** Called with each file that is left out without stopping the start. */
  onSkipped?: ((skipped: PluginProblem) => void) | undefined;
  /** Called with each faulty file, which is left out then; without it they stop the start. */
  onProblem?: ((problem: PluginProblem) => void) | undefined;
}

/**
 * Loads every plugin below `folders` and compiles its schema. Throws a `PluginError` that names every faulty file, so that no gateway
 * starts with half of its helpers. `onLate` gets errors that escape a plugin's module after its import; without it they go to stderr.
 * With an `env`, missing variables are faults too.
 */
export async function loadRegistry(
  folders: string[],
  ajv: Ajv,
  { onLate, env, lookMs, onSkipped, onProblem }: LoadRegistryOptions = {},
): Promise<Registry> {
  const url = helperUrl(folders);
  if (url) hookPlugins(url);
  const registry = new Map<string, Helper>();
  const found = await findPlugins(folders);
  const problems: PluginProblem[] = [...found.problems];
  if (onSkipped) found.skipped.forEach(onSkipped);
  const own = lookMs === undefined ? [] : found.plugins.filter(({ shipped }) => !shipped);
  const inspector = { helperUrl: url, timeoutMs: lookMs ?? 0 };
  const inspections = await inspectPlugins(own, inspector);
  const here = found.plugins.filter((plugin) => !plugin.shipped && !inspections.has(plugin));
  const watch = watchImports(here.map(({ file }) => file));
  for (const plugin of found.plugins) {
    try {
      const inspection = inspections.get(plugin);
      const helper = inspection
        ? declareInspected(plugin, inspection, ajv)
        : await loadHelper(plugin, ajv, onLate);
      registry.set(plugin.id, helper);
      if (env) problems.push(...configProblems(helper, env));
    } catch (error) {
      problems.push({ file: plugin.file, reason: (error as Error).message });
    } finally {
      if (here.includes(plugin)) watch.next();
    }
  }
  watch.end();
  const pipeline = createPipeline(registry, ajv);
  if (pipeline) registry.set(pipeline.id, pipeline);
  if (problems.length > 0 && !onProblem) throw new PluginError(problems);
  if (onProblem) problems.forEach(onProblem);
  return registry;
}

async function loadHelper(
  found: RoutedPlugin,
  ajv: Ajv,
  onLate: LoadRegistryOptions['onLate'],
): Promise<Helper> {
  const late = onLate && ((error: unknown) => onLate(found.id, error));
  const { url, declaration } = await importDeclaration(found, { onLate: late, isWatched: true });
  return { ...declareHelper({ ...found, url }, declaration, ajv), functions: functionsOf(declaration) };
}

/** Called as the declaration's own methods, which may say `this`. */
function functionsOf(checked: unknown): HelperFunctions {
  const declaration = checked as { [name in keyof HelperFunctions]: HelperFunctions[name] | 'run' };
  const { handler, dryrun, inline, setup } = declaration as HelperFunctions & { dryrun?: unknown };
  return {
    handler: handler.bind(declaration),
    ...(typeof dryrun === 'function' && { dryrun: dryrun.bind(declaration) }),
    ...(inline && { inline: inline.bind(declaration) }),
    ...(setup && { setup: setup.bind(declaration) }),
  };
}
