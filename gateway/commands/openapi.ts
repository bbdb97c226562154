import type { Command } from 'commander';
import { createVocabulary } from '../../schemas/vocabulary/vocabulary.js';
import { loadConfig } from '../config.js';
import { openApiDocument } from '../docs/openapi/document.js';
import { loadRegistry } from '../helpers/load-registry.js';
import { builtinPlugins } from '../helpers/package-paths.js';
import { PluginError } from '../helpers/plugin-error.js';
import type { Registry } from '../helpers/registry.js';
import { version } from '../helpers/version.js';
import { endSoon } from './end-soon.js';
import { answer, type JsonOption, jsonOption, type Terminal } from './output.js';
import { asInvalidInput } from './plugins/check.js';
import { reserveStdout } from './reserve-stdout.js';

/** `openapi`: prints the document that a gateway with this environment would serve, without starting one. */
export function registerOpenApi(program: Command, terminal: Terminal): void {
  program
    .command('openapi')
    .description('Print the OpenAPI 3.1 document of all helpers.')
    .option(...jsonOption)
    .action(async ({ json }: JsonOption) => {
      const quiet = { ...terminal, stdout: reserveStdout() };
      await answer(quiet, json === true, async () => {
        const { pluginDirs, apiUrl } = loadConfig(process.env);
        const registry = await load([builtinPlugins, ...pluginDirs]);
        const data = openApiDocument(registry, { version, serverUrl: apiUrl });
        return { data, result: JSON.stringify(data, null, 2) };
      });
    });
}

async function load(folders: string[]): Promise<Registry> {
  try {
    return await loadRegistry(folders, createVocabulary());
  } catch (error) {
    throw error instanceof PluginError ? asInvalidInput(error) : error;
  } finally {
    endSoon();
  }
}
