import { readFile } from 'node:fs/promises';
import { basename } from 'node:path';
import { fileURLToPath } from 'node:url';
import { inspect } from 'node:util';
import { type Answer, jsonText } from '../../pool/answer.js';
import type { FileBytes } from '../../pool/task.js';
import type { ConfigField, FileField } from '../../schemas/declared-helper.js';
import type { FieldProblem } from '../../schemas/field-problem.js';
import { didYouMean } from '../../schemas/nearest.js';
import type { CheckOutput } from '../../schemas/parameters/compile-schema.js';
import { type GatewayError, sentenceOf } from '../errors.js';
import { fileType, unknownType } from '../http/body.js';
import { callError, checkedHelper, preparedParts } from './checked-helper.js';
import { openHelper } from './open-helper.js';
import type { AnswerFor, CallOptions, GivenFile, InputFor, OptionsFor } from './types.js';

/**
 * Calls a helper in this process as the gateway would: the input is checked and gets its defaults, files are opened, the handler runs
 * within its time, and its result is checked, by `output` too. Resolves with `data`, or with `{body, type, headers}`. Rejects with an
 * `Error` that has the `code` and the `details` of the error's envelope.
 *
 * ```ts
 * assert.deepEqual(await call(shout, { text: 'hi' }), { text: 'HI' });
 * await assert.rejects(call(shout, { text: '' }), { code: 'invalid_input' });
 * ```
 */
export function call<Helper extends object>(
  helper: Helper,
  input: Partial<InputFor<Helper>>,
  options: OptionsFor<Helper> & { dryrun: true },
): Promise<Record<string, unknown>>;
export function call<Helper extends object>(
  helper: Helper,
  input: InputFor<Helper>,
  options?: OptionsFor<Helper>,
): Promise<AnswerFor<Helper>>;
export async function call(
  declared: object,
  input: object = {},
  options: CallOptions = {},
): Promise<unknown> {
  requireKnown(options);
  const { files = {}, signal, service = 'test/helper', fetch, log } = options;
  signal?.throwIfAborted();
  const known = await checkedHelper(declared);
  const { declaration } = known.helper;
  const parts = await preparedParts(known, readConfig(options.config ?? {}, declaration.config));
  const uploads = await readFiles(files, declaration.files);
  const sent = options.dryrun ? { ...input, dryrun: true } : input;
  const { call, thrown, close } = openHelper(known, { service, parts, fetch, log });
  try {
    const bytes = new TextEncoder().encode(JSON.stringify(sent));
    const reply = await call({ body: { kind: 'json', bytes }, uploads }, signal);
    signal?.throwIfAborted();
    if (!reply.ok) throw asThrown(reply.error, thrown());
    const isOwn = reply.meta.dryrun && declaration.dryrun !== 'run';
    return readAnswer(reply.answer, isOwn ? undefined : known.checkOutput);
  } finally {
    await close();
  }
}

const optionNames = Object.keys({
  files: true,
  config: true,
  dryrun: true,
  fetch: true,
  signal: true,
  log: true,
  service: true,
} satisfies Record<keyof CallOptions, true>);

/** JavaScript has no types that would find a misspelt option, and a test whose files are not sent passes for a wrong reason. */
function requireKnown(options: object): void {
  const unknown = Object.keys(options).find((name) => !optionNames.includes(name));
  if (unknown === undefined) return;
  throw new TypeError(`${unknown} is no option of call${didYouMean(unknown, optionNames)}`);
}

/** Of a fault the author sees the error itself, which callers never see. */
function asThrown({ code, message, details, cause }: GatewayError, thrown: unknown): Error {
  const words = details ? details.map(sentenceOf).join('; ') : message;
  if (code !== 'internal') return callError(code, words, { details, cause: thrown });
  const reason = thrown ?? cause;
  return callError(code, reason instanceof Error ? reason.message : inspect(reason), { cause: reason });
}

/** What was sent; rejects with `output` where it is data that the declaration does not describe. A dry run's is its own. */
function readAnswer(answer: Answer, checkOutput: CheckOutput | undefined): unknown {
  if (answer.kind === 'bytes') {
    const { bytes: body, type, headers = {} } = answer;
    return { body, type, headers };
  }
  const data = JSON.parse(jsonText(answer)) as object;
  const details = checkOutput?.(data) ?? [];
  if (details.length === 0) return data;
  const words = details.map(sentenceOf).join('; ');
  throw callError('output', `the answer is not as output says: ${words}`, { details });
}

/** The configuration of a call, with its defaults. Throws `missing_config` for what the gateway would not start without. */
function readConfig(
  given: Readonly<Record<string, string | undefined>>,
  fields: readonly ConfigField[],
): Readonly<Record<string, string>> {
  const names = fields.map(({ name }) => name);
  const unknown = Object.keys(given).filter((name) => !names.includes(name));
  const values = fields.flatMap((field): [string, string][] => {
    const value = given[field.name] || field.default;
    return value === undefined ? [] : [[field.name, value]];
  });
  const set = new Set(values.map(([name]) => name));
  const missing = fields.filter(({ name, required }) => required && !set.has(name));
  const details: FieldProblem[] = [
    ...missing.map(({ name, env }) => ({
      field: `config.${name}`,
      problem: `is required (${env}): call the helper with { config: { ${name}: '…' } }`,
    })),
    ...unknown.map((name) => ({
      field: `config.${name}`,
      problem: `is not declared${didYouMean(name, names)}`,
    })),
  ];
  if (details.length > 0) throw callError('missing_config', details.map(sentenceOf).join('; '), { details });
  return Object.freeze(Object.fromEntries(values));
}

/**
 * The files of a call as they would arrive: copies, because a handler may change them. Bytes without a type get the first one that
 * their field accepts.
 */
async function readFiles(
  files: Readonly<Record<string, GivenFile | undefined>>,
  fields: readonly FileField[],
): Promise<Map<string, FileBytes>> {
  const read = new Map<string, FileBytes>();
  for (const [name, file] of Object.entries(files)) {
    const field = fields.find((each) => each.field === name);
    if (file !== undefined) read.set(name, await readGiven(file, field));
  }
  return read;
}

async function readGiven(file: GivenFile, field: FileField | undefined): Promise<FileBytes> {
  if (typeof file === 'string' || file instanceof URL) {
    const path = typeof file === 'string' ? file : fileURLToPath(file);
    const type = fileType(unknownType, path);
    return { bytes: new Uint8Array(await readFile(path)), type, name: basename(path) };
  }
  const { bytes, type, name }: Partial<FileBytes> & { bytes: Uint8Array } =
    file instanceof Uint8Array ? { bytes: file } : file;
  return {
    bytes: new Uint8Array(bytes),
    type: type ?? field?.types?.find((each) => !each.endsWith('/*')) ?? unknownType,
    ...(name === undefined ? {} : { name }),
  };
}
