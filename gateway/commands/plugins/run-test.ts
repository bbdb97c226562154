import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdir } from 'node:fs/promises';
import { join, sep } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type Logger, pino } from 'pino';
import { compileOutput } from '../../../schemas/parameters/compile-schema.js';
import { visible } from '../../../schemas/quote.js';
import { createVocabulary } from '../../../schemas/vocabulary.js';
import { type Config, loadConfig } from '../../config.js';
import { builtinPlugins } from '../../plugins/paths.js';
import { configProblems, type Environment, type Helper } from '../../plugins/registry.js';
import { callLine } from '../call/call-here.js';
import { openLocalHelpers } from '../open-local.js';
import { answer, type Terminal } from '../output.js';
import { commandName, quoteWord } from '../process.js';
import { isSame, loadCheckedHelpers } from './check.js';
import {
  createNetwork,
  type Failure,
  type HelperReport,
  samplePicture,
  type TestOptions,
  testHelper,
} from './test-helper.js';

export interface RunTestOptions extends Omit<TestOptions, 'network'> {
  json: boolean;
}

/** Does what `plugins test` does; the exit code is 1 where anything failed. */
export async function runTest(folder: string, terminal: Terminal, options: RunTestOptions): Promise<void> {
  const { json, runs, seed, online, effects } = options;
  const helpers = await loadCheckedHelpers(folder, terminal, json);
  if (!helpers) return;
  await answer(terminal, json, async () => {
    const pluginDirs = (await isSame(folder, builtinPlugins)) ? [] : [folder];
    const names = { command: commandName(), folder: pluginDirs[0], helpers };
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

export interface FolderOptions extends Omit<TestOptions, 'network'> {
  folder: string;
  config: Config;
  env: Environment;
  logger: Logger;
  /** Told of each helper when it is done. */
  onReport: (report: HelperReport | NotTested) => void;
}

/** A helper that could not be tried. */
export interface NotTested {
  id: string;
  reason: string;
}

export interface FolderReport {
  plugins: (HelperReport | NotTested)[];
  /** The author's own tests, where there are any. */
  tests: { files: number; passed: boolean };
}

/** Tests these helpers of a folder in worker threads, one after another, and then runs the tests that lie beside them. */
export async function testFolder(helpers: readonly Helper[], options: FolderOptions): Promise<FolderReport> {
  const { folder, config, env, logger, onReport } = options;
  const network = createNetwork();
  const ajv = createVocabulary();
  const plugins: FolderReport['plugins'] = [];
  const guardSource = network.guard;
  const local = await openLocalHelpers(config, logger, env, { guardSource, allInWorkers: true });
  try {
    for (const { id } of helpers) {
      const helper = local.registry.get(id) as Helper;
      const acts = helper.declaration.effects && !options.effects;
      const missing = acts
        ? 'it changes something elsewhere: --effects calls it'
        : configProblems(helper, env)[0]?.reason;
      const { output } = helper.declaration;
      const judgeOutput = output && compileOutput(ajv, output);
      const report =
        missing === undefined
          ? await testHelper({ helper, local, judgeOutput }, { ...options, network })
          : { id, reason: missing };
      plugins.push(report);
      onReport(report);
    }
  } finally {
    await local.close();
  }
  const files = await findTests(folder);
  const passed = files.length === 0 || (await runTests(files, folder));
  return { plugins, tests: { files: files.length, passed } };
}

const register = fileURLToPath(
  new URL('dist/bundle/register.js', import.meta.resolve('helper-gateway/package.json')),
);
const isTest = /\.test\.(?:[cm]?js|m?ts)$/;
const leftAlone = /^[._]|^node_modules$/;

/** The tests that lie beside a folder's plugins. */
export async function findTests(folder: string): Promise<string[]> {
  const names = await readdir(folder, { recursive: true });
  const tests = names.filter(
    (name) => isTest.test(name) && !name.split(sep).some((part) => leftAlone.test(part)),
  );
  return tests.sort().map((name) => join(folder, name));
}

/**
 * Runs them with Node's own runner, which finds `helper-gateway/…` and reads TypeScript as the gateway does. What it says goes to
 * stderr. Gives whether all passed.
 */
export async function runTests(files: readonly string[], cwd: string): Promise<boolean> {
  // Inside another runner's test it would report to that, and not to people.
  const { NODE_TEST_CONTEXT: _, ...env } = process.env;
  const args = ['--import', register, '--test', '--test-reporter=spec', ...files];
  const child = spawn(process.execPath, args, {
    cwd,
    env,
    stdio: ['ignore', process.stderr, process.stderr],
  });
  const [code] = (await once(child, 'close')) as [number | null];
  return code === 0;
}

/** Characters of a command that a person reads in a terminal. */
const longestLine = 2_000;

/** What lines of a report name. */
export interface Names {
  /** How the command line is called. */
  command: string;
  /** The folder of the plugins, where they are not the package's own. */
  folder: string | undefined;
  helpers: readonly Helper[];
}

/** A helper's report for people: one line, and below it what is to be mended. */
export function linesOf(report: HelperReport | NotTested, names: Names): string[] {
  if ('reason' in report) return [`- /${report.id}  skipped: ${report.reason}`];
  const { id, examples, inputs, valid, skipped, failures } = report;
  const fine = failures.length === 0;
  const doubt = inputs > 0 && valid === 0 ? ['no generated input fits the schema; only examples do'] : [];
  return [
    `${fine ? '✓' : '✗'} /${id}  ${plural(examples, 'example')}, ${plural(inputs, 'input')}`,
    ...[...skipped, ...doubt].map((reason) => `    ${reason}`),
    ...failures.flatMap((failure) => failureLines(id, failure, names)),
  ];
}

/** What has failed: plugins' calls, and the author's own tests as one. */
export function failuresOf({ plugins, tests }: FolderReport): number {
  const calls = plugins.reduce((sum, each) => sum + ('failures' in each ? each.failures.length : 0), 0);
  return calls + (tests.passed ? 0 : 1);
}

function failureLines(id: string, { stage, reason, input, files }: Failure, names: Names): string[] {
  const { command, folder, helpers } = names;
  const fields = helpers.find((each) => each.id === id)?.declaration.files ?? [];
  const samples = files.map((field) => {
    const kind = fields.find((each) => each.field === field)?.kind;
    return ` --${field} ${kind === 'image' ? quoteWord(samplePicture) : 'FILE'}`;
  });
  const served = folder === undefined ? '' : `HELPER_PLUGINS=${quoteWord(folder)} `;
  const line = `${served}${callLine(id, input, command)}${samples.join('')}`;
  const more = line.length > longestLine ? '… (all of it: --json)' : '';
  return [`    ${stage}: ${reason}`, `      ${line.slice(0, longestLine)}${more}`];
}

function plural(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`;
}
