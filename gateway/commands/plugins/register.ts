import { resolve } from 'node:path';
import type { Command } from 'commander';
import { endSoon } from '../end-soon.js';
import { answer, jsonOption, type Terminal } from '../output.js';
import { reserveStdout } from '../reserve-stdout.js';
import type { NewOptions } from './new/create-plugin.js';
import { registerPluginTest } from './test/register.js';

/** `plugins new`, `plugins check` and `plugins test`: what an author of plugins needs, without a gateway that runs. */
export function registerPluginCommands(program: Command, terminal: Terminal): void {
  const plugins = program.command('plugins').description('Write, check and test helper plugins.');
  plugins
    .command('new <dir/route>')
    .description('Write a small plugin that works, with a test, and what an editor needs to know.')
    .option('--ts', 'in TypeScript')
    .option(
      '--dir <dir>',
      'the folder of plugins, where the path alone does not say which part of it that is',
    )
    .option(...jsonOption)
    .action(async (path: string, { json, ...options }: NewOptions & { json?: boolean }) => {
      const { createPlugin } = await import('./new/create-plugin.js');
      await answer(terminal, json === true, () => createPlugin(path, options, process.env));
    });
  plugins
    .command('check <dir>')
    .description('Load every plugin in a folder and say what is wrong, without starting the gateway.')
    .option(...jsonOption)
    .action(async (dir: string, { json }: { json?: boolean }) => {
      const quiet = { ...terminal, stdout: reserveStdout() };
      const { runCheck } = await import('./run-check.js');
      await runCheck(resolve(dir), quiet, json === true);
      endSoon();
    });
  registerPluginTest(plugins, terminal);
}
