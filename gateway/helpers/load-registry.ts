import type { Ajv } from 'ajv';
import { resolveHelperModule } from '../../pool/resolve-helper.js';
import { checkDeclaration } from '../../schemas/declaration.js';
import { asSchema } from '../../schemas/json-schema.js';
import { inputFaults } from '../../schemas/parameters/compile-schema.js';
import { compileParameters } from '../../schemas/parameters.js';
import type { HelperDeclaration } from '../helper.js';
import { discoverPlugins, type FoundPlugin, type PluginProblem } from './discover.js';
import { importDeclaration } from './import-plugin.js';
import { builtinPlugins, helperUrl } from './package-paths.js';
import { PluginError } from './plugin-error.js';
import type { Helper, Registry } from './registry.js';

/** First parts of the paths that the gateway answers or rewrites itself, or will: no helper may grow into their place. */
const reserved = new Set(['healthz', 'readyz', 'img', 'docs', 'openapi.json', 'mcp', 'jobs']);

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
        registry.set(
          plugin.id,
          await loadHelper({ ...plugin, shipped: folder === builtinPlugins }, ajv, onLate),
        );
      } catch (error) {
        problems.push({ file: plugin.file, reason: (error as Error).message });
      }
    }
  }
  if (problems.length > 0) throw new PluginError(problems);
  return registry;
}

async function loadHelper(
  found: FoundPlugin & { shipped: boolean },
  ajv: Ajv,
  onLate: ((id: string, error: unknown) => void) | undefined,
): Promise<Helper> {
  const { id, file, shipped } = found;
  const [first = ''] = id.split('/');
  if (reserved.has(first)) throw new Error(`the route /${first} is the gateway's own`);
  const late = onLate && { onLate: (error: unknown) => onLate(id, error) };
  const { url, declaration } = await importDeclaration(found, late);
  const reasons = checkDeclaration(declaration);
  if (reasons.length > 0) throw new Error([...reasons, ...moreFaults(ajv, declaration, reasons)].join('\n'));
  const given = declaration as HelperDeclaration;
  const helper = { ...given, runs: given.runs ?? 'pool' } as HelperDeclaration;
  return { id, file, shipped, url, declaration: helper, parameters: compileParameters(ajv, helper) };
}

/** The faults of the schema that a faulty declaration has besides, of no place that `told` has named. */
function moreFaults(ajv: Ajv, declaration: unknown, told: readonly string[]): string[] {
  const places = new Set(told.map(placeOf));
  return inputFaults(ajv, asSchema(asSchema(declaration).input)).filter(
    (fault) => !places.has(placeOf(fault)),
  );
}

function placeOf(fault: string): string {
  return fault.split(' ', 1)[0] ?? '';
}
