import { readFile } from 'node:fs/promises';
import type { Ajv } from 'ajv';
import { hookPlugins } from '../../pool/plugin-hooks.js';
import { JsonWalk } from '../../schemas/input/json-walk.js';
import { readJsonObject } from '../../schemas/input/parse.js';
import { findPlugins, isRecipeFile, type PluginProblem, type RoutedPlugin } from './discover.js';
import { importDeclaration, watchImports } from './import-plugin.js';
import { declareHelper, declareInspected, inspectPlugins } from './inspect-plugins.js';
import { helperUrl } from './paths.js';
import { createPipeline } from './recipes/pipeline.js';
import { createRecipeCompiler, type RecipeCompiler } from './recipes/recipe.js';
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
  const plugins = found.plugins.filter(({ file }) => !isRecipeFile(file));
  const own = lookMs === undefined ? [] : plugins.filter(({ shipped }) => !shipped);
  const inspector = { helperUrl: url, timeoutMs: lookMs ?? 0 };
  const inspections = await inspectPlugins(own, inspector);
  const here = plugins.filter((plugin) => !plugin.shipped && !inspections.has(plugin));
  const watch = watchImports(here.map(({ file }) => file));
  for (const plugin of plugins) {
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
  const compile = createRecipeCompiler(registry, () => ajv);
  for (const { id, file } of found.plugins.filter((each) => isRecipeFile(each.file))) {
    try {
      registry.set(id, await loadRecipe(id, file, compile));
    } catch (error) {
      problems.push({ file, reason: (error as Error).message });
    }
  }
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

/** Throws an `Error` with all that is wrong with a recipe. */
async function loadRecipe(id: string, file: string, compile: RecipeCompiler): Promise<Helper> {
  const bytes = await readFile(file);
  try {
    const walk = new JsonWalk(bytes, { onName() {}, onValue() {} });
    while (walk.step(bytes.length));
  } catch (error) {
    const place = (_: string, at: string) => {
      const lines = bytes.toString('utf8', 0, Number(at)).split('\n');
      return `in line ${lines.length}, column ${(lines.at(-1)?.length ?? 0) + 1}`;
    };
    throw new Error(`must ${(error as Error).message.replace(/at byte (\d+)/, place)}`);
  }
  const read = readJsonObject(bytes.toString().replace(/^\ufeff/, ''));
  const { helper, problems } = 'value' in read ? compile(id, read.value) : { ...read, helper: undefined };
  if (helper) return { ...helper, file };
  throw new Error(problems.map(({ field, problem }) => `${field} ${problem}`).join('\n'));
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
