import { randomInt } from 'node:crypto';
import { resolve } from 'node:path';
import { type Command, InvalidArgumentError } from 'commander';
import { endSoon } from '../../end-soon.js';
import { jsonOption, type Terminal } from '../../output.js';
import { reserveStdout } from '../../reserve-stdout.js';

interface Options {
  runs: number;
  seed?: number;
  network?: boolean;
  effects?: boolean;
  json?: boolean;
}

/** `plugins test DIR`: runs the examples of each plugin, generated inputs, and the author's own tests. */
export function registerPluginTest(plugins: Command, terminal: Terminal): void {
  plugins
    .command('test <dir>')
    .description("Run every plugin's examples and generated inputs, and the tests beside them.")
    .option('--runs <n>', 'generated inputs for each plugin', wholeNumber, 200)
    .option('--seed <n>', 'generate the same inputs again as a run that printed this number', wholeNumber)
    .option('--network', 'let examples fetch; generated inputs never do')
    .option('--effects', 'also call helpers that change something elsewhere')
    .option(...jsonOption)
    .action(
      async (
        dir: string,
        { network = false, effects = false, json = false, seed = randomInt(2 ** 31), runs }: Options,
      ) => {
        const quiet = { ...terminal, stdout: reserveStdout() };
        const { runTest } = await import('./run-test.js');
        await runTest(resolve(dir), quiet, { runs, seed, online: network, effects, json });
        endSoon();
      },
    );
}

function wholeNumber(text: string): number {
  if (/^\d{1,9}$|^[12]\d{9}$/.test(text)) return Number(text);
  throw new InvalidArgumentError('It must be a whole number of at most ten digits.');
}
