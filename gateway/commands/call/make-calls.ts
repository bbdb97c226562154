import { randomUUID } from 'node:crypto';
import type { Logger } from 'pino';
import { type Answer, jsonText } from '../../../pool/answer.js';
import type { FileField } from '../../../schemas/declared-helper.js';
import { didYouMean } from '../../../schemas/nearest.js';
import { quote, visible } from '../../../schemas/quote.js';
import { type GatewayError, sentenceOf, toGatewayError } from '../../errors.js';
import { failure, success } from '../../http/envelope.js';
import type { Reply } from '../../local-helpers.js';
import { columns, printJson } from '../output.js';
import { type Input, type Job, jobsOf } from './jobs.js';
import { type AnswerForm, planResultPaths, type ResultPaths, writeResult } from './results.js';
import { readWords, serviceAt, type Words } from './words.js';

/** What can be called: the helpers of this process, or those of a gateway elsewhere. */
export interface CallTarget {
  list: readonly { id: string; summary: string }[];
  find(id: string): CalledHelper | undefined;
  /** Options that calls of this target have besides. */
  settings?: readonly string[];
}

export interface CalledHelper {
  id: string;
  /** Parameters that need no value. */
  booleans: readonly string[];
  files: readonly Pick<FileField, 'field' | 'parameter' | 'types'>[];
  form: AnswerForm;
  help(): string;
  /** Called once the results are known to have a place. */
  open(jobs: readonly Job[]): Calls;
}

interface Calls {
  /** Rejects for a reason that holds for all calls. */
  begun?: Promise<void>;
  /** Throws what cannot be sent. */
  call(job: Job): Promise<Reply>;
  /** Calls at a time. */
  most: number;
  close?(): Promise<void>;
}

export interface CallOptions {
  input: Input;
  screen: Screen;
  /** Logs the cause of a fault, which the answer does not say. */
  logger: Pick<Logger, 'error'>;
  /** Interrupts the calls. */
  signal: AbortSignal;
}

/** Where results and errors are written. */
interface Screen {
  stdout: { write(data: string | Uint8Array): unknown; isTTY?: boolean };
  stderr: { write(text: string): unknown; isTTY?: boolean };
}

/** How one call ended: with data, bytes that still go to standard output, or a file that was written. */
type Outcome = Pick<Reply, 'meta'> & { file?: string | undefined } & (
    | { ok: true; result: Result }
    | { ok: false; error: GatewayError }
  );
type Result = { data: unknown } | Bytes | { out: string; type: string; size: number };
interface Bytes {
  bytes: Uint8Array;
  type: string;
}

export const failedCode = 1;
const usageCode = 2;
export const interruptedCode = 130;

/** Does what the words behind `call` say and gives the exit code: 1 for bad input or a bad file, 2 where there is no such helper. */
export async function runCall(
  words: readonly string[],
  { list, find, settings }: CallTarget,
  options: CallOptions,
): Promise<number> {
  const { input, screen, signal } = options;
  const at = serviceAt(words, (word) => find(word) !== undefined, settings);
  const service = words[at];
  const helper = service === undefined ? undefined : find(service);
  if (!helper) {
    const { help, json } = readWords(words, () => true, settings);
    return printUnknown(service, list, screen, { help, json });
  }
  const rest = words.filter((_, index) => index !== at);
  const read = readWords(rest, (name) => helper.booleans.includes(name), settings);
  if (read.help) {
    printText(screen.stdout, helper.help());
    return 0;
  }
  const { json } = read;
  const jobs = jobsOf(read, helper, input);
  const paths = await planResultPaths({ words: read, service: helper.id, jobs, form: helper.form });
  if (paths.problem) {
    const meta = { service: helper.id, dryrun: false, request_id: randomUUID() };
    printOne({ meta, ok: false, error: paths.problem }, screen, json);
    return failedCode;
  }
  const calls = helper.open(jobs);
  const make = (job: Job) => makeCall(job, helper.id, calls, paths, options);
  try {
    await calls.begun;
    const [only] = jobs;
    if (!only || jobs.length > 1) {
      const failed = await makeMany(jobs, make, calls.most, { screen, signal, json });
      return signal.aborted ? interruptedCode : failed === 0 ? 0 : failedCode;
    }
    const outcome = await make(only);
    if (signal.aborted && !outcome.ok) return interruptedCode;
    const isFine = printOne(outcome, screen, json);
    return signal.aborted ? interruptedCode : isFine ? 0 : failedCode;
  } finally {
    await calls.close?.();
  }
}

/** Makes one call and writes its result where that is to go. Never throws. */
async function makeCall(
  job: Job,
  service: string,
  { call }: Calls,
  paths: ResultPaths,
  { logger, signal }: CallOptions,
): Promise<Outcome> {
  const { file } = job;
  let meta: Outcome['meta'] = { service, dryrun: false, request_id: '' };
  const failed = (error: GatewayError): Outcome => {
    const err = (error.cause ?? error) as Error;
    // An error that is its own cause says everything itself.
    if (error.code === 'internal' && !signal.aborted && err.message !== error.message)
      logger.error({ err, file, ...meta }, 'call failed');
    return { file, meta, ok: false, error };
  };
  try {
    const reply = await call(job);
    meta = reply.meta;
    return reply.ok
      ? { file, meta, ok: true, result: await deliver(reply.answer, job, paths) }
      : failed(reply.error);
  } catch (error) {
    return failed(toGatewayError(error));
  }
}

async function deliver(answer: Answer, job: Job, { option, pathFor }: ResultPaths): Promise<Result> {
  const { type, bytes } =
    answer.kind === 'bytes' ? answer : { type: 'application/json', bytes: jsonText(answer) };
  const path = await pathFor(job, type);
  if (path === undefined)
    return answer.kind === 'bytes' ? { bytes: answer.bytes, type } : { data: JSON.parse(String(bytes)) };
  await writeResult(path, bytes, option);
  return { out: path, type, size: bytes.length };
}

/** Makes the calls of many files; gives how many failed. A terminal has a line of progress, a program lines of JSON. */
async function makeMany(
  jobs: readonly Job[],
  make: (job: Job) => Promise<Outcome>,
  most: number,
  { screen: { stdout, stderr }, signal, json }: Pick<CallOptions, 'screen' | 'signal'> & { json: boolean },
): Promise<number> {
  const progress = stderr.isTTY === true && !json ? createProgress(jobs.length, stderr) : undefined;
  const left = jobs.values();
  let failed = 0;

  async function work(): Promise<void> {
    for (const job of left) {
      if (signal.aborted) return;
      const outcome = await make(job);
      // An interrupted call has not failed.
      if (!outcome.ok && signal.aborted) return;
      if (!outcome.ok) failed += 1;
      progress?.clear();
      if (!progress || (outcome.ok && !('out' in outcome.result))) printJson(stdout, lineOf(outcome));
      else if (!outcome.ok) printText(stderr, `${outcome.file}: ${errorLines(outcome.error)}`);
      progress?.advance(failed);
    }
  }

  await Promise.all(Array.from({ length: Math.min(most, jobs.length) }, work));
  progress?.finish(failed);
  return failed;
}

/** Milliseconds between two updates of the progress line. */
const refreshMs = 100;

function createProgress(total: number, stderr: Screen['stderr']) {
  const began = Date.now();
  let done = 0;
  let drawn = false;
  let last = 0;

  function draw(failed: number): void {
    const seconds = Math.max((Date.now() - began) / 1000, 0.001);
    const faults = failed > 0 ? `, ${failed} failed` : '';
    stderr.write(`\r\x1b[K${done} of ${total} files${faults}, ${(done / seconds).toFixed(1)} a second`);
    drawn = true;
  }

  return {
    clear() {
      if (drawn) stderr.write('\r\x1b[K');
      drawn = false;
    },
    advance(failed: number) {
      done += 1;
      if (Date.now() - last < refreshMs && done < total) return;
      last = Date.now();
      draw(failed);
    },
    finish(failed: number) {
      draw(failed);
      stderr.write('\n');
    },
  };
}

/** Prints lines for people. They may quote a server, a plugin or a file's name, which must not control the terminal. */
function printText(stream: Screen['stderr'], text: string): void {
  stream.write(`${visible(text)}\n`);
}

/** Prints the outcome of a single call; gives whether all is well. */
export function printOne(outcome: Outcome, { stdout, stderr }: Screen, json: boolean): boolean {
  if (!outcome.ok) {
    if (json) printJson(stdout, failure(outcome.error, outcome.meta));
    else printText(stderr, `Error: ${errorLines(outcome.error)}`);
    return false;
  }
  const { result, meta } = outcome;
  if ('bytes' in result) return printBytes(result, { stdout, stderr }, json);
  if (json) printJson(stdout, success('out' in result ? result : result.data, meta));
  else if ('out' in result) printText(stderr, `Wrote ${result.out}: ${result.type}, ${result.size} bytes`);
  else printJson(stdout, result.data, stdout.isTTY ? 2 : undefined);
  return true;
}

function printBytes({ bytes, type }: Bytes, { stdout, stderr }: Screen, json: boolean): boolean {
  const readable = /^text\/|[/+](?:json|xml)\b/.test(type);
  if (json || (stdout.isTTY && !readable)) {
    const why = json ? '--json prints one document, and' : 'a terminal cannot show it:';
    const what = `the answer is ${type} of ${bytes.length} bytes`;
    printText(stderr, `Error: ${what}; ${why} --out FILE writes it to a file`);
    return false;
  }
  if (stdout.isTTY) printText(stdout, Buffer.from(bytes).toString().replace(/\n$/, ''));
  else stdout.write(bytes);
  return true;
}

/** The outcome of one of many files, for a line of JSON. */
function lineOf(outcome: Outcome): object {
  const { file } = outcome;
  if (!outcome.ok) return { file, ok: false, error: failure(outcome.error, outcome.meta).error };
  const { result } = outcome;
  const what = 'bytes' in result ? { type: result.type, size: result.bytes.length } : result;
  return { file, ok: true, ...what };
}

function errorLines({ code, message, details }: GatewayError): string {
  if (!details) return `${message} (${code})`;
  return details.map(sentenceOf).join('\n       ');
}

/** Lists the helpers for `--help`, and for an unknown name or without one, which its first line says. */
function printUnknown(
  service: string | undefined,
  helpers: CallTarget['list'],
  { stdout, stderr }: Screen,
  { help, json }: Pick<Words, 'help' | 'json'>,
): number {
  const ids = helpers.map(({ id }) => id);
  const unknown = service && `there is no helper ${quote(service)}${didYouMean(service, ids)}`;
  const problem = unknown || 'name a helper';
  if (json && !help) {
    printJson(stdout, { ok: false, error: { code: 'not_found', message: problem } });
    return usageCode;
  }
  const usage = 'Usage: helper-gateway call SERVICE [--parameter value …] [FILES…]';
  const lines = [
    help ? usage : `Error: ${problem}`,
    '',
    ...columns(helpers.map(({ id, summary }) => [`  ${id}`, summary])),
    '',
    'helper-gateway call SERVICE --help shows its parameters.',
    'With --server URL a gateway there does the work, by the key of --key or HELPER_KEY.',
  ];
  printText(help ? stdout : stderr, lines.join('\n'));
  return help ? 0 : usageCode;
}
