import { visibleJson } from '../../schemas/quote.js';
import { createVocabulary } from '../../schemas/vocabulary.js';
import { loadConfig } from '../config.js';
import { openApiDocument } from '../docs/openapi/document.js';
import { loadRegistry } from '../plugins/load-registry.js';
import { builtinPlugins, version } from '../plugins/paths.js';
import { PluginError, type Registry } from '../plugins/registry.js';
import type { Answer } from './output.js';
import { asInvalidInput } from './plugins/check.js';
import { exitSoon } from './process.js';

/** The OpenAPI document of the helpers that an environment names. */
export async function describeHelpers(env: NodeJS.ProcessEnv): Promise<Answer> {
  const { pluginDirs, apiUrl } = loadConfig(env);
  const registry = await load([builtinPlugins, ...pluginDirs]);
  const data = openApiDocument(registry, { version, serverUrl: apiUrl });
  return { data: { ...data }, result: visibleJson(JSON.stringify(data, null, 2)) };
}

async function load(folders: string[]): Promise<Registry> {
  try {
    return await loadRegistry(folders, createVocabulary());
  } catch (error) {
    throw error instanceof PluginError ? asInvalidInput(error) : error;
  } finally {
    exitSoon();
  }
}
