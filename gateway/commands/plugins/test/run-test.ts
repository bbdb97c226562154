import { pino } from 'pino';
import { visible } from '../../../../schemas/quote.js';
import { loadConfig } from '../../../config.js';
import { builtinPlugins } from '../../../helpers/package-paths.js';
import { calledAs } from '../../called-as.js';
import { answer, type Terminal } from '../../output.js';
import { isSame } from '../check.js';
import { loadable } from '../run-check.js';
import { failuresOf, linesOf } from './lines.js';
import { testFolder } from './test-folder.js';
import type { TestOptions } from './test-helper.js';

export interface RunTestOptions extends Omit<TestOptions, 'network'> {
  json: boolean;
}

/** Does what `plugins test` does; the exit code is 1 where anything failed. */
export async function runTest(folder: string, terminal: Terminal, options: RunTestOptions): Promise<void> {
  const { json, runs, seed, online, effects } = options;
  const helpers = await loadable(folder, terminal, json);
  if (!helpers) return;
  await answer(terminal, json, async () => {
    const pluginDirs = (await isSame(folder, builtinPlugins)) ? [] : [folder];
    const names = { command: calledAs(), folder: pluginDirs[0], helpers };
    const report = await testFolder(helpers, {
      folder,
      config: { ...loadConfig(process.env), pluginDirs, poolThreads: 1 },
      env: process.env,
      logger: pino({ level: 'silent' }),
      runs,
      seed,
      online,
      effects,
      onReport: (each) => {
        if (!json) terminal.stdout.write(`${visible(linesOf(each, names).join('\n'))}\n`);
      },
    });
    const failed = failuresOf(report);
    if (failed > 0) terminal.setExitCode(1);
    const { files, passed } = report.tests;
    const tests = files > 0 ? `, own tests ${passed ? 'passed' : 'failed'}` : '';
    const count = failed === 0 ? 'nothing failed' : `${failed} failed`;
    return { data: { seed, runs, failed, ...report }, result: `${count}${tests} (--seed ${seed})` };
  });
}
