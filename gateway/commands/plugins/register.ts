import { randomInt } from 'node:crypto';
import { resolve } from 'node:path';
import { type Command, InvalidArgumentError } from 'commander';
import { answer, jsonOption, type Terminal } from '../output.js';
import { exitSoon, reserveStdout } from '../process.js';
import type { NewOptions } from './create.js';
import type { TestOptions } from './run-test.js';

type TestFlags = Partial<TestOptions> & { runs: number; network?: boolean };

/** `plugins new`, `plugins check` and `plugins test`: for authors of plugins, without a running gateway. */
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
      const { createPlugin } = await import('./create.js');
      await answer(terminal, json === true, () => createPlugin(path, options, process.env));
    });
  plugins
    .command('check <dir>')
    .description('Load every plugin in a folder and say what is wrong, without starting the gateway.')
    .option(...jsonOption)
    .action(async (dir: string, { json }: { json?: boolean }) => {
      const quiet = { ...terminal, stdout: reserveStdout() };
      const { runCheck } = await import('./check.js');
      await runCheck(resolve(dir), quiet, json === true);
      exitSoon();
    });
  plugins
    .command('test <dir>')
    .description("Run every plugin's examples and generated inputs, and the tests beside them.")
    .option('--runs <n>', 'generated inputs for each plugin', wholeNumber, 200)
    .option('--seed <n>', 'generate the same inputs again as a run that printed this number', wholeNumber)
    .option('--network', 'let examples fetch; generated inputs never do')
    .option('--effects', 'also call helpers that change something elsewhere')
    .option(...jsonOption)
    .action(async (dir: string, { network: online = false, seed, ...flags }: TestFlags) => {
      const quiet = { ...terminal, stdout: reserveStdout() };
      const { runTest } = await import('./run-test.js');
      const { runs, effects = false, json = false } = flags;
      await runTest(resolve(dir), quiet, { runs, effects, json, online, seed: seed ?? randomInt(2 ** 31) });
      exitSoon();
    });
}

function wholeNumber(text: string): number {
  if (/^\d{1,9}$|^[12]\d{9}$/.test(text)) return Number(text);
  throw new InvalidArgumentError('It must be a whole number of at most ten digits.');
}
