import { realpath } from 'node:fs/promises';
import { resolve } from 'node:path';
import type { Command } from 'commander';
import { createVocabulary } from '../../schemas/vocabulary/vocabulary.js';
import { GatewayError } from '../errors.js';
import { discoverPlugins } from '../helpers/discover.js';
import { loadRegistry } from '../helpers/load-registry.js';
import { builtinPlugins } from '../helpers/package-paths.js';
import { PluginError } from '../helpers/plugin-error.js';
import type { Helper } from '../helpers/registry.js';
import { answer, jsonOption, type Terminal } from './output.js';
import { reserveStdout } from './reserve-stdout.js';

/** Milliseconds after which the process ends whatever is still open. */
const lingerMs = 1_000;

/** `plugins check DIR`: says about a folder of plugins what the gateway's start would say, without starting it. */
export function registerPluginCommands(program: Command, terminal: Terminal): void {
  const plugins = program.command('plugins').description('Work on helper plugins.');
  plugins
    .command('check <dir>')
    .description('Load every plugin in a folder and say what is wrong, without starting the gateway.')
    .option(...jsonOption)
    .action(async (dir: string, { json }: { json?: boolean }) => {
      const quiet = { ...terminal, stdout: reserveStdout() };
      const checked = await check(resolve(dir));
      // A plugin may keep something open for ever, such as a timer or a connection; nobody closes it here.
      setTimeout(() => process.exit(), lingerMs).unref();
      if (checked instanceof PluginError && !json) {
        quiet.stderr.write(`${checked.message}\n`);
        quiet.setExitCode(1);
        return;
      }
      await answer(quiet, json === true, async () => {
        if (checked instanceof PluginError) throw asInvalidInput(checked);
        return { data: { plugins: checked.map(describe) }, result: report(checked) };
      });
    });
}

/** Loads the package's own plugins, too, as the start does: theirs are the first routes that are taken. */
async function check(folder: string): Promise<Helper[] | PluginError> {
  const ajv = createVocabulary();
  try {
    if (await isSame(folder, builtinPlugins))
      return [...(await loadRegistry([builtinPlugins], ajv)).values()];
    const all = await loadRegistry([builtinPlugins, folder], ajv);
    const builtin = new Set((await discoverPlugins(builtinPlugins)).plugins.map(({ id }) => id));
    return [...all.values()].filter(({ id }) => !builtin.has(id));
  } catch (error) {
    if (error instanceof PluginError) return error;
    throw error;
  }
}

/** A folder that does not exist is no other's twin; what is wrong with it is told by the loading. */
async function isSame(folder: string, other: string): Promise<boolean> {
  const [one, two] = await Promise.all([folder, other].map((path) => realpath(path).catch(() => path)));
  return one === two;
}

function asInvalidInput({ problems }: PluginError): GatewayError {
  const details = problems.map(({ file, reason }) => ({ field: file, problem: reason }));
  return new GatewayError('invalid_input', {
    message: 'Not every plugin can be served; see details.',
    details,
  });
}

function describe({ id, file, declaration }: Helper): object {
  return { id, file, summary: declaration.summary };
}

function report(helpers: Helper[]): string {
  if (helpers.length === 0)
    return 'No plugins here: a plugin is <route>.js or <route>/index.js below this folder.';
  const width = Math.max(...helpers.map(({ id }) => id.length));
  const lines = helpers.map(({ id, declaration }) => `  /${id.padEnd(width)}  ${declaration.summary}`);
  return [`${helpers.length === 1 ? '1 plugin is' : `${helpers.length} plugins are`} fine:`, ...lines].join(
    '\n',
  );
}
