import { fileURLToPath } from 'node:url';
import type { Ajv } from 'ajv';
import type { PluginModule } from '../pool/plugin-module.js';
import { resolveHelperModule } from '../pool/resolve-helper.js';
import { checkDeclaration } from '../schemas/declaration.js';
import { compileParameters, type ParameterChecker } from '../schemas/parameters.js';
import { discoverPlugins, type FoundPlugin, type PluginProblem } from './discover.js';
import type { HelperDeclaration } from './helper.js';
import { importDeclaration } from './import-plugin.js';

/** A helper that is ready to be served. */
export interface Helper {
  /** Service id and route, e.g. `text/diff-two-strings`. */
  id: string;
  file: string;
  /** URL of the plugin's module, by which a worker imports it. */
  url: string;
  /** Says in `runs` where, whether or not the plugin does. */
  declaration: HelperDeclaration;
  /** Compiled once, from the declaration's schema. */
  parameters: ParameterChecker;
}

/** Every helper by its id. */
export type Registry = ReadonlyMap<string, Helper>;

/** Plugins that cannot be served; the start stops. `message` lists every file with its reason. */
export class PluginError extends Error {
  readonly problems: PluginProblem[];

  constructor(problems: PluginProblem[]) {
    const lines = problems.map(({ file, reason }) => `  ${file}\n    ${reason.replaceAll('\n', '\n    ')}`);
    super(
      `${problems.length === 1 ? 'a plugin' : `${problems.length} plugins`} cannot be served:\n${lines.join('\n')}`,
    );
    this.name = 'PluginError';
    this.problems = problems;
  }
}

/** The folder of the helpers that the package brings. */
export const builtinPlugins = fileURLToPath(new URL('../plugins', import.meta.url));

/** URL of the module that plugins import as `helper-gateway/helper`, where a folder of `folders` needs it resolved. */
export function helperUrl(folders: string[]): string | undefined {
  const outside = folders.some((folder) => folder !== builtinPlugins);
  return outside ? new URL('./helper.js', import.meta.url).href : undefined;
}

/** Paths that the gateway itself answers, or rewrites, and that no helper may take. */
const reserved = new Set(['healthz', 'readyz', 'img']);

/**
 * Loads every plugin below `folders` and compiles its schema. Throws a `PluginError` that names every faulty file:
 * a gateway that starts with half its helpers is found out by its customers. `onLate` is told of what a plugin's module
 * lets escape once it is loaded; stderr where that is missing.
 */
export async function loadRegistry(
  folders: string[],
  ajv: Ajv,
  onLate?: (id: string, error: unknown) => void,
): Promise<Registry> {
  const url = helperUrl(folders);
  if (url) resolveHelperModule(url);
  const registry = new Map<string, Helper>();
  const problems: PluginProblem[] = [];
  for (const folder of folders) {
    const found = await discoverPlugins(folder);
    problems.push(...found.problems);
    for (const plugin of found.plugins) {
      const taken = registry.get(plugin.id);
      if (taken) {
        problems.push({ file: plugin.file, reason: `the route /${plugin.id} is taken by ${taken.file}` });
        continue;
      }
      try {
        registry.set(plugin.id, await loadHelper(plugin, ajv, onLate));
      } catch (error) {
        problems.push({ file: plugin.file, reason: (error as Error).message });
      }
    }
  }
  if (problems.length > 0) throw new PluginError(problems);
  return registry;
}

async function loadHelper(
  found: FoundPlugin,
  ajv: Ajv,
  onLate: ((id: string, error: unknown) => void) | undefined,
): Promise<Helper> {
  const { id, file } = found;
  const first = id.split('/')[0] as string;
  if (reserved.has(first)) throw new Error(`the route /${first} is the gateway's own`);
  const late = onLate && { onLate: (error: unknown) => onLate(id, error) };
  const { url, declaration } = await importDeclaration(found, late);
  const reasons = checkDeclaration(declaration);
  if (reasons.length > 0) throw new Error(reasons.join('\n'));
  const given = declaration as HelperDeclaration;
  const helper = { ...given, runs: given.runs ?? 'pool' } as HelperDeclaration;
  return { id, file, url, declaration: helper, parameters: compileParameters(ajv, helper) };
}

/** What the workers have to import: the plugins whose handlers run there. */
export function poolPlugins(registry: Registry): PluginModule[] {
  const helpers = [...registry.values()].filter(({ declaration }) => declaration.runs === 'pool');
  return helpers.map(({ id, url }) => ({ service: id, url }));
}
