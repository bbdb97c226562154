import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdir } from 'node:fs/promises';
import { join, sep } from 'node:path';
import { fileURLToPath } from 'node:url';
import { pino } from 'pino';
import { compileOutput } from '../../../schemas/parameters/compile-schema.js';
import { visible } from '../../../schemas/quote.js';
import { createVocabulary } from '../../../schemas/vocabulary.js';
import { loadConfig } from '../../config.js';
import { builtinPlugins } from '../../plugins/paths.js';
import { configProblems, type Helper } from '../../plugins/registry.js';
import { callLine } from '../call/call-here.js';
import { openLocalHelpers } from '../open-local.js';
import { answer, type Terminal } from '../output.js';
import { commandName, quoteWord } from '../process.js';
import { isSame, loadCheckedHelpers } from './check.js';
import {
  type Failure,
  guardSource,
  type HelperReport,
  samplePicture,
  type TestOptions,
  testHelper,
} from './test-helper.js';

interface RunTestOptions extends Omit<TestOptions, 'network'> {
  json: boolean;
  /** Calls helpers that change something elsewhere. */
  effects: boolean;
}

/** A helper that could not be tested. */
interface NotTested {
  id: string;
  reason: string;
}

/**
 * Tests the helpers of a folder in worker threads, one after another, then runs the tests that lie beside them. The exit code is 1
 * where anything failed.
 */
export async function runTest(folder: string, terminal: Terminal, options: RunTestOptions): Promise<void> {
  const { json, runs, seed, effects } = options;
  const helpers = await loadCheckedHelpers(folder, terminal, json);
  if (!helpers) return;
  await answer(terminal, json, async () => {
    const pluginDirs = (await isSame(folder, builtinPlugins)) ? [] : [folder];
    const names = { command: commandName(), folder: pluginDirs[0], helpers };
    const config = { ...loadConfig(process.env), pluginDirs, poolThreads: 1 };
    const network = { isOpen: false };
    const ajv = createVocabulary();
    const plugins: (HelperReport | NotTested)[] = [];
    const local = await openLocalHelpers(config, pino({ level: 'silent' }), process.env, {
      guardSource: (source) => guardSource(source, network),
      allInWorkers: true,
    });
    try {
      for (const { id } of helpers) {
        const helper = local.registry.get(id) as Helper;
        const { output, effects: acts } = helper.declaration;
        const reason =
          acts && !effects
            ? 'it changes something elsewhere: --effects calls it'
            : configProblems(helper, process.env)[0]?.reason;
        const tested = { helper, local, checkOutput: output && compileOutput(ajv, output) };
        const report =
          reason === undefined ? await testHelper(tested, { ...options, network }) : { id, reason };
        plugins.push(report);
        if (!json) terminal.stdout.write(`${visible(linesOf(report, names).join('\n'))}\n`);
      }
    } finally {
      await local.close();
    }
    const files = await findTests(folder);
    const passed = files.length === 0 || (await runTests(files, folder));
    const calls = plugins.flatMap((each) => ('failures' in each ? each.failures : []));
    // The author's own tests count as one.
    const failed = calls.length + (passed ? 0 : 1);
    if (failed > 0) terminal.setExitCode(1);
    const tests = files.length > 0 ? `, own tests ${passed ? 'passed' : 'failed'}` : '';
    const count = failed === 0 ? 'nothing failed' : `${failed} failed`;
    return {
      data: { seed, runs, failed, plugins, tests: { files: files.length, passed } },
      result: `${count}${tests} (--seed ${seed})`,
    };
  });
}

const register = fileURLToPath(
  new URL('dist/bundle/register.js', import.meta.resolve('helper-gateway/package.json')),
);
const isTest = /\.test\.(?:[cm]?js|m?ts)$/;
const ignored = /^[._]|^node_modules$/;

/** The tests that lie beside a folder's plugins. */
async function findTests(folder: string): Promise<string[]> {
  const names = await readdir(folder, { recursive: true });
  const tests = names.filter(
    (name) => isTest.test(name) && !name.split(sep).some((part) => ignored.test(part)),
  );
  return tests.sort().map((name) => join(folder, name));
}

/**
 * Runs them with Node's own runner, which finds `helper-gateway/…` and reads TypeScript as the gateway does. Its output goes to
 * stderr. Gives whether all passed.
 */
async function runTests(files: readonly string[], cwd: string): Promise<boolean> {
  // Inside another runner's test it would report to that one.
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

interface Names {
  /** How the command line is called. */
  command: string;
  /** The folder of the plugins, where they are not the package's own. */
  folder: string | undefined;
  helpers: readonly Helper[];
}

/** A helper's report for people: one line, and below it what to mend. */
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
