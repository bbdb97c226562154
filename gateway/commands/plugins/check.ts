import { realpath } from 'node:fs/promises';
import { importTimeoutMs } from '../../../pool/plugin-module.js';
import { createVocabulary } from '../../../schemas/vocabulary/vocabulary.js';
import { GatewayError } from '../../errors.js';
import { discoverPlugins } from '../../helpers/discover.js';
import { type LoadRegistryOptions, loadRegistry } from '../../helpers/load-registry.js';
import { builtinPlugins } from '../../helpers/package-paths.js';
import { PluginError } from '../../helpers/plugin-error.js';
import type { Helper } from '../../helpers/registry.js';

/**
 * Loads the plugins of a folder as the start would, but sets nothing up and asks for no configuration. The package's own are
 * loaded with them, as the start does: theirs are the first routes that are taken.
 */
export async function checkFolder(
  folder: string,
  { lookMs = importTimeoutMs, onSkipped }: Pick<LoadRegistryOptions, 'lookMs' | 'onSkipped'> = {},
): Promise<Helper[] | PluginError> {
  const ajv = createVocabulary();
  try {
    if (await isSame(folder, builtinPlugins))
      return [...(await loadRegistry([builtinPlugins], ajv)).values()];
    const all = await loadRegistry([builtinPlugins, folder], ajv, { lookMs, onSkipped });
    const builtin = new Set((await discoverPlugins(builtinPlugins)).plugins.map(({ id }) => id));
    return [...all.values()].filter(({ id }) => !builtin.has(id));
  } catch (error) {
    if (error instanceof PluginError) return error;
    throw error;
  }
}

/** Whether both are one folder. One that does not exist is no other's twin; what is wrong with it is told by the loading. */
export async function isSame(folder: string, other: string): Promise<boolean> {
  const [one, two] = await Promise.all([folder, other].map((path) => realpath(path).catch(() => path)));
  return one === two;
}

/** What stops a start as an error of the table, for programs. */
export function asInvalidInput({ problems }: PluginError): GatewayError {
  const details = problems.map(({ file, reason }) => ({ field: file, problem: reason }));
  return new GatewayError('invalid_input', {
    message: 'Not every plugin can be served; see details.',
    details,
  });
}
