import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { dirname, join, sep } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import fc from 'fast-check';
import { pino } from 'pino';
import { jsonText } from '../../../pool/answer.js';
import { readThrown, type Thrown } from '../../../pool/errors.js';
import type { FileBytes } from '../../../pool/task.js';
import type { FileField } from '../../../schemas/declared-helper.js';
import { type CheckOutput, compileOutput } from '../../../schemas/parameters/compile-schema.js';
import { uploadsOf } from '../../../schemas/parameters/parameters.js';
import { visible } from '../../../schemas/quote.js';
import { createVocabulary } from '../../../schemas/vocabulary.js';
import { loadConfig } from '../../config.js';
import type { Source } from '../../download/fetch.js';
import { GatewayError, sentenceOf } from '../../errors.js';
import type { LocalHelpers } from '../../local-helpers.js';
import { exitHint, timeHint } from '../../plugins/hints.js';
import { builtinPlugins, examplePicture } from '../../plugins/paths.js';
import { configProblems, type Helper } from '../../plugins/registry.js';
import { callLine } from '../call/call-here.js';
import { openLocalHelpers } from '../open-local.js';
import { answer, type Terminal } from '../output.js';
import { commandName, quoteWord } from '../process.js';
import { isSame, loadCheckedHelpers } from './check.js';
import { callsOf, type GeneratedCall } from './test-inputs.js';

export interface TestOptions {
  runs: number;
  seed: number;
  /** Lets examples fetch. */
  online: boolean;
  /** Calls helpers that change something elsewhere. */
  effects: boolean;
  json: boolean;
}

/** A helper that could not be tested. */
type NotTested = { id: string; reason: string };

/** Tests a folder's helpers in worker threads, then runs the tests beside them. Exit code 1 where anything failed. */
export async function runTest(folder: string, terminal: Terminal, options: TestOptions): Promise<void> {
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
        const tested = { helper, local, network, checkOutput: output && compileOutput(ajv, output) };
        const report = reason === undefined ? await testHelper(tested, options) : { id, reason };
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
  const isOwn = (name: string) => !name.split(sep).some((part) => ignored.test(part));
  const tests = names.filter((name) => isTest.test(name) && isOwn(name));
  return tests.sort().map((name) => join(folder, name));
}

/** Runs them with Node's own runner, which reads plugins as the gateway does and prints to stderr; gives whether all passed. */
async function runTests(files: readonly string[], cwd: string): Promise<boolean> {
  // Inside another runner's test it would report to that one.
  const { NODE_TEST_CONTEXT: _, ...env } = process.env;
  const args = ['--import', register, '--test', '--test-reporter=spec', ...files];
  const stdio = ['ignore', process.stderr, process.stderr] as const;
  const [code] = await once(spawn(process.execPath, args, { cwd, env, stdio: [...stdio] }), 'close');
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
    return ` --${field} ${kind === 'image' ? quoteWord(examplePicture) : 'FILE'}`;
  });
  const served = folder === undefined ? '' : `HELPER_PLUGINS=${quoteWord(folder)} `;
  const line = `${served}${callLine(id, input, command)}${samples.join('')}`;
  const more = line.length > longestLine ? '… (all of it: --json)' : '';
  return [`    ${stage}: ${reason}`, `      ${line.slice(0, longestLine)}${more}`];
}

function plural(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`;
}

/** Milliseconds for the generated inputs of one helper, including the search for the smallest that fails. */
const generatedTimeMs = 60_000;

/** A call that should have ended otherwise. */
interface Failure extends GeneratedCall {
  stage: 'example' | 'generated';
  reason: string;
}

export interface HelperReport {
  id: string;
  /** Examples that were run, and why others were not. */
  examples: number;
  skipped: string[];
  /** Generated inputs, and how many of them were right by the schema. */
  inputs: number;
  valid: number;
  failures: Failure[];
}

interface Network {
  isOpen: boolean;
}

interface TestedHelper {
  helper: Helper;
  local: Pick<LocalHelpers, 'call'>;
  network: Network;
  checkOutput: CheckOutput | undefined;
}

/** Runs a helper's examples, then as many generated inputs. Never throws for what the helper does. */
async function testHelper(tested: TestedHelper, options: TestOptions): Promise<HelperReport> {
  const { id } = tested.helper;
  const report: HelperReport = { id, examples: 0, skipped: [], inputs: 0, valid: 0, failures: [] };
  await runExamples(tested, options, report);
  await runGenerated(tested, options, report);
  return report;
}

async function runExamples(
  tested: TestedHelper,
  { online }: TestOptions,
  report: HelperReport,
): Promise<void> {
  const { helper, network } = tested;
  const { examples, files } = helper.declaration;
  for (const [index, { summary, input }] of examples.entries()) {
    const call = { input, files: input.dryrun === true ? [] : uploadsOf(files, input) };
    network.isOpen = online;
    const ended = await tryCall(tested, call).finally(() => {
      network.isOpen = false;
    });
    if (!ended.ok && ended.code === 'source_refused' && !online) {
      report.skipped.push(`example ${index + 1}${summary ? ` (${summary})` : ''} fetches: --network lets it`);
      continue;
    }
    report.examples += 1;
    if (!ended.ok) report.failures.push({ ...call, stage: 'example', reason: ended.reason });
  }
}

async function runGenerated(
  tested: TestedHelper,
  { runs, seed }: TestOptions,
  report: HelperReport,
): Promise<void> {
  if (runs === 0) return;
  let last = '';
  const property = fc.asyncProperty(callsOf(tested.helper.declaration), async (generated) => {
    const call = { ...generated, input: asSent(generated.input) };
    const isValid = isRight(tested, call);
    const wrong = faultOf(await tryCall(tested, call), isValid);
    report.inputs += 1;
    if (isValid) report.valid += 1;
    if (wrong !== undefined) last = wrong;
    return wrong === undefined;
  });
  const limits = { interruptAfterTimeLimit: generatedTimeMs, markInterruptAsFailure: false };
  const { counterexample } = await fc.check(property, { numRuns: runs, seed, ...limits });
  // The smallest input that fails is the last that did.
  if (!counterexample) return;
  const [{ input, files }] = counterexample;
  report.failures.push({ input: asSent(input), files, stage: 'generated', reason: last });
}

function isRight({ helper }: TestedHelper, { input, files: uploaded }: GeneratedCall): boolean {
  const { declaration, parameters } = helper;
  const dryrun = input.dryrun === true && declaration.dryrun !== 'run';
  return parameters.check(input, { dryrun, uploaded }).problems.length === 0;
}

/** Undefined values are not sent. */
function asSent(input: object): Record<string, unknown> {
  return JSON.parse(JSON.stringify(input));
}

/** Why an end is a failure. A helper may refuse an input that fits its schema, and report errors of the world outside. */
function faultOf(ended: CallEnd, isValid: boolean): string | undefined {
  if (ended.ok) return isValid ? undefined : 'an input that its schema refuses was answered';
  if (ended.code === 'invalid_input') return undefined;
  if (!isValid) return `an input that its schema refuses gave ${ended.reason}`;
  return ['internal', 'helper_timeout', 'output'].includes(ended.code) ? ended.reason : undefined;
}

/** How a call ended: `code` is that of its error, or `output` where the answer is not as declared. */
type CallEnd = { ok: true } | { ok: false; code: string; reason: string };

/** Makes a call with sample files in its file fields, and checks the answer by the declared output. */
async function tryCall(
  { helper, local, checkOutput }: TestedHelper,
  { input, files }: GeneratedCall,
): Promise<CallEnd> {
  const { declaration, parameters } = helper;
  const wanted = declaration.files.filter(({ field }) => files.includes(field));
  const uploads = new Map(wanted.map((field) => [field.field, sampleFile(field)]));
  const bytes = new TextEncoder().encode(JSON.stringify(input));
  const reply = await local.call(helper, { body: { kind: 'json', bytes }, uploads });
  if (!reply.ok) return { ok: false, code: reply.error.code, reason: failureReason(reply.error, helper) };
  if (reply.answer.kind === 'bytes' || !checkOutput) return { ok: true };
  const isDryRun = input.dryrun === true && parameters.check(input, { dryrun: true }).problems.length === 0;
  if (isDryRun && declaration.dryrun !== 'run') return { ok: true };
  const problems = checkOutput(JSON.parse(jsonText(reply.answer)));
  if (problems.length === 0) return { ok: true };
  const reason = `the answer is not as output says: ${problems.map(sentenceOf).join('; ')}`;
  return { ok: false, code: 'output', reason };
}

/** For the author: of a fault the error and its place, of any other error what callers read. */
function failureReason({ code, message, details, cause }: GatewayError, { file }: Helper): string {
  if (details) return `${code}: ${details.map(sentenceOf).join('; ')}`;
  if (code === 'helper_timeout') return `${code}: ${message}${timeHint(cause)}`;
  const thrown = cause instanceof Error ? readThrown(cause) : ((cause ?? {}) as Partial<Thrown>);
  if (code !== 'internal' || typeof thrown.message !== 'string') return `${code}: ${message}`;
  const folder = pathToFileURL(dirname(file)).href;
  const frame = thrown.stack?.split('\n').find((line) => line.includes(folder));
  const place = frame?.replace(/^\s*at /, '').replace(/file:\/\//, '');
  return `${thrown.name ?? 'Error'}: ${thrown.message}${exitHint(thrown)}${place ? ` (${place})` : ''}`;
}

/** 24 × 16 blue pixels, for helpers that accept no JPEG. */
const smallPng =
  'iVBORw0KGgoAAAANSUhEUgAAABgAAAAQCAMAAAA7+k+nAAAAA1BMVEUwcMA3SmMMAAAACXBIWXMAAAPoAAAD6AG1e1JrAAAADklEQVQYlWNgGAWDCQAAAZAAAdjzlT8AAAAASUVORK5CYII=';

/** A file for a field: a picture, or a line of text of the first type that the field accepts. Its bytes are its own, because they are moved. */
function sampleFile({ kind, types, maxBytes }: FileField): FileBytes {
  const type = types?.find((each) => !each.endsWith('/*'));
  if (kind === 'image' && type === 'image/png') {
    return { bytes: new Uint8Array(Buffer.from(smallPng, 'base64')), type, name: 'example.png' };
  }
  if (kind === 'image')
    return { bytes: new Uint8Array(readFileSync(examplePicture)), type: 'image/jpeg', name: 'example.jpg' };
  const bytes = new TextEncoder().encode('name,size\none,1\n'.slice(0, maxBytes));
  return { bytes, type: type ?? 'text/plain', name: 'example.txt' };
}

/** Refuses what is fetched while the network is closed: generated inputs must not reach strangers' servers. */
function guardSource(source: Source, network: Network): Source {
  return {
    ...source,
    async fetch(...given) {
      if (network.isOpen) return source.fetch(...given);
      const message = 'Nothing is fetched here; --network lets examples fetch.';
      throw new GatewayError('source_refused', { message });
    },
  };
}
