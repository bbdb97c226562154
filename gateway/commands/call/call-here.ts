import { once } from 'node:events';
import { stat } from 'node:fs/promises';
import { resolve } from 'node:path';
import type { Logger } from 'pino';
import type { FileField } from '../../../schemas/declared-helper.js';
import { describeFile } from '../../../schemas/parameters/compile-schema.js';
import { type ParameterProperty, uploadsOf } from '../../../schemas/parameters/parameters.js';
import { type Config, loadConfig } from '../../config.js';
import type { LocalHelpers } from '../../local-helpers.js';
import { openLog } from '../../observability/log.js';
import { discoverPlugins } from '../../plugins/discover.js';
import { builtinPlugins, usualFolder } from '../../plugins/paths.js';
import type { Helper } from '../../plugins/registry.js';
import { problemLines } from '../dev.js';
import { openLocalHelpers } from '../open-local.js';
import { columns } from '../output.js';
import { exitSoon, interruptSignal, quoteWord, reserveStdout } from '../process.js';
import { createInput } from './jobs.js';
import { type CallOptions, type CallTarget, runCall } from './make-calls.js';
import { serviceAt } from './words.js';

/** Calls beyond those that threads work on, whose files are read in advance. */
const readAhead = 2;

/** Calls a helper in this process and prints the result. */
export async function callLocally(words: string[]): Promise<void> {
  // Plugins may print on any thread; standard output holds the result alone.
  const stdout = reserveStdout();
  const given = loadConfig(process.env);
  // No more threads than there can be files.
  const config = { ...given, poolThreads: Math.min(given.poolThreads, Math.max(1, words.length - 1)) };
  const logger = await openLog(config.logLevel, process.stderr);
  const local = await openHelpers(config, words, logger);
  try {
    process.exitCode = await runLocally(words, {
      local,
      most: config.poolThreads + readAhead,
      input: createInput(process.stdin, Math.max(config.maxTextBytes, config.maxImageBytes)),
      screen: { stdout, stderr: process.stderr },
      logger,
      signal: interruptSignal(),
    });
  } finally {
    await local.close();
  }
  // Until all output has been read, or its reader has closed it.
  while (process.stdout.writableLength > 0 && !process.stdout.destroyed)
    await once(process.stdout, 'drain').catch(() => undefined);
  exitSoon();
}

/** Opens the configured helpers, else `./helpers`, as `dev`: but not for the package's own, as it may hold no plugins. */
async function openHelpers(config: Config, words: readonly string[], logger: Logger): Promise<LocalHelpers> {
  const folder = resolve(usualFolder);
  const isThere = async () => (await stat(folder).catch(() => undefined))?.isDirectory() ?? false;
  if (config.pluginDirs.length > 0 || !(await isThere())) return openLocalHelpers(config, logger);
  const shipped = new Set((await discoverPlugins(builtinPlugins)).plugins.map(({ id }) => id));
  const service = words[serviceAt(words, (word) => shipped.has(word))] ?? '';
  if (shipped.has(service)) return openLocalHelpers(config, logger);
  return openLocalHelpers({ ...config, pluginDirs: [folder] }, logger, process.env, {
    onProblem: (problem) => process.stderr.write(`${problemLines([problem])}\n`),
  });
}

/** Calls helpers of this process, `most` at a time; gives the exit code. */
export function runLocally(
  words: readonly string[],
  { local, most, ...options }: CallOptions & { local: LocalHelpers; most: number },
): Promise<number> {
  const { registry } = local;
  const target: CallTarget = {
    list: [...registry.values()].map(({ id, declaration: { summary } }) => ({ id, summary })),
    find(id) {
      const helper = registry.get(id);
      if (!helper) return undefined;
      const { files, output } = helper.declaration;
      const { properties } = helper.parameters;
      return {
        id,
        booleans: properties.flatMap(({ name, schema }) => (schema.type === 'boolean' ? [name] : [])),
        files,
        form: {
          onlyData: output !== undefined,
          pictures: files.some(({ kind }) => kind === 'image'),
          defaultFormat: properties.find(({ name }) => name === 'format')?.schema.default,
        },
        help: () => helpOf(helper),
        open: () => ({ most, call: async (job) => local.call(helper, await job.load(), options.signal) }),
      };
    },
  };
  return runCall(words, target, options);
}

/** The text of `call SERVICE --help`. */
export function helpOf({ id, declaration, parameters }: Helper): string {
  const { summary, description, files, examples } = declaration;
  const many = files.length > 0 ? ' [FILES…]' : '';
  const own = new Set(files.filter(({ field, parameter }) => field === parameter).map(({ field }) => field));
  const rows = parameters.properties.filter(({ name }) => !own.has(name)).map(rowOf);
  const lines = examples.map(({ input }) => `  ${exampleLine(id, input, files)}`);
  return [
    `Usage: helper-gateway call ${id} [--parameter value …]${many}`,
    summary,
    ...(description === undefined ? [] : [description]),
    section('Parameters', [...files.map(fileRowOf), ...rows]),
    section('Options', [
      ['--out FILE', 'write the result to a file; "-" is standard output'],
      ['--out-dir DIR', 'write the result of each file into a folder, named like the file'],
      ['--json', 'print the whole envelope, errors too; of many files a line each'],
      ['--set NAME=VALUE', 'give a parameter any value, also "-" or one that has the name of an option'],
    ]),
    ...(lines.length === 0 ? [] : [['Examples', ...lines].join('\n')]),
  ].join('\n\n');
}

/** An example, with the files that it needs and its input does not name. */
function exampleLine(id: string, input: Record<string, unknown>, files: readonly FileField[]): string {
  const uploads = input.dryrun === true ? [] : uploadsOf(files, input);
  return [callLine(id, input), ...uploads.map((field) => `--${field} FILE`)].join(' ');
}

function fileRowOf(file: FileField): [string, string] {
  const { field, kind, required, types } = file;
  const form = `${kind === 'image' ? 'a picture' : 'a file'}${types ? ` (${types.join(', ')})` : ''}`;
  const source = `${form}, or "-" for standard input`;
  const parts = [source, required ? 'required' : '', describeFile(file) ?? ''];
  return [`--${field} FILE`, parts.filter(Boolean).join('; ')];
}

function rowOf({ name, schema, required, allowed }: ParameterProperty): [string, string] {
  const flag = schema.type === 'boolean' ? `--${name}` : `--${name} VALUE`;
  const preset = schema.default === undefined ? '' : `default ${JSON.stringify(schema.default)}`;
  const what = typeof schema.description === 'string' ? schema.description : '';
  return [flag, [allowed, required ? 'required' : preset, what].filter(Boolean).join('; ')];
}

function section(title: string, rows: readonly [string, string][]): string {
  return [title, ...columns(rows.map(([flag, what]) => [`  ${flag}`, what]))].join('\n');
}

/** The command line that calls a helper with this input, to be pasted into a shell. */
export function callLine(id: string, input: Record<string, unknown>, command = 'helper-gateway'): string {
  const words = Object.entries(input).map(([name, value]) => {
    if (value === true) return `--${name}`;
    const text = typeof value === 'string' ? value : JSON.stringify(value);
    // Alone it would be standard input.
    if (text === '-') return `--set ${quoteWord(`${name}=-`)}`;
    return text.startsWith('-') ? quoteWord(`--${name}=${text}`) : `--${name} ${quoteWord(text)}`;
  });
  return [`${command} call`, id, ...words].join(' ');
}
