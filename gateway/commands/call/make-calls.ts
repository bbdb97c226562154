import { randomUUID } from 'node:crypto';
import type { Logger } from 'pino';
import { didYouMean } from '../../../schemas/nearest.js';
import { escapeInvisible, quote, visible, visibleJson } from '../../../schemas/quote.js';
import { failure, success } from '../../http/envelope.js';
import type { Reply } from '../../local-helpers.js';
import type { Job } from './jobs.js';
import {
  type AnswerForm,
  makeCall,
  type Outcome,
  planResultPaths,
  type Result,
  type Written,
} from './results.js';
import type { Words } from './words.js';

/** The calls of a command line, and who answers them. */
interface CallsToMake {
  service: string;
  words: Words;
  jobs: readonly Job[];
  form: AnswerForm;
  /** What has to be done before the first call, once it is known that the results have a place. */
  begin?(): Promise<void>;
  /** Makes one of them. Throws what cannot be sent. */
  call(job: Job): Promise<Reply>;
  /** Calls under way at a time. */
  most: number;
  screen: Screen;
  /** Told the reason of a fault, of which the answer itself says nothing. */
  logger: Pick<Logger, 'error'>;
  /** Ends what is under way. */
  signal: AbortSignal;
}

export const failedCode = 1;
const usageCode = 2;
export const interruptedCode = 130;

/** Makes the calls, writes and prints what comes of them, and gives the exit code. */
export async function makeCalls({
  service,
  words,
  jobs,
  form,
  begin,
  call,
  most,
  screen,
  logger,
  signal,
}: CallsToMake): Promise<number> {
  const places = await planResultPaths({ words, service, jobs, form });
  if (places.problem) {
    const meta = { service, dryrun: false, request_id: randomUUID() };
    printOne({ meta, ok: false, error: places.problem }, screen, words.json);
    return failedCode;
  }
  await begin?.();
  const option = words.outDir === undefined ? 'out' : 'out-dir';
  const make = async (job: Job): Promise<Outcome> => {
    const outcome = await makeCall(job, { service, call, option, places });
    if (!outcome.ok && outcome.error.code === 'internal' && !signal.aborted) {
      const { error, file, meta } = outcome;
      const err = (error.cause ?? error) as Error;
      // What cannot be served says so itself.
      if (err.message !== error.message) logger.error({ err, file, ...meta }, 'call failed');
    }
    return outcome;
  };
  const [only] = jobs;
  if (!only || jobs.length > 1) {
    const failed = await makeManyCalls({ jobs, most, call: make, signal, screen, json: words.json });
    if (signal.aborted) return interruptedCode;
    return failed === 0 ? 0 : failedCode;
  }
  const outcome = await make(only);
  if (signal.aborted && !outcome.ok) return interruptedCode;
  const fine = printOne(outcome, screen, words.json);
  if (signal.aborted) return interruptedCode;
  return fine ? 0 : failedCode;
}

/** Milliseconds between two looks of the progress line. */
const refreshMs = 100;

interface ManyOptions {
  jobs: readonly Job[];
  /** Calls under way at a time. */
  most: number;
  call(job: Job): Promise<Outcome>;
  signal: AbortSignal;
  screen: Screen;
  json: boolean;
}

/**
 * Makes the calls of many files, some at a time, and gives how many failed: those cost the others nothing. On a terminal one line
 * tells how far it is, and each file that failed has its own; else, and where results are data, each file has a line of JSON.
 */
async function makeManyCalls({ jobs, most, call, signal, screen, json }: ManyOptions): Promise<number> {
  const watched = screen.stderr.isTTY === true && !json;
  const progress = createProgress(jobs.length, screen.stderr);
  const left = jobs.values();
  let failed = 0;

  async function work(): Promise<void> {
    for (const job of left) {
      if (signal.aborted) return;
      const outcome = await call(job);
      // What was given up has not failed.
      if (!outcome.ok && signal.aborted) return;
      if (!outcome.ok) failed += 1;
      if (watched) progress.clear();
      tell(outcome);
      if (watched) progress.advance(failed);
    }
  }

  function tell(outcome: Outcome): void {
    const isPlain = outcome.ok && 'out' in outcome.result;
    if (!watched || (outcome.ok && !isPlain)) printJson(screen.stdout, lineOf(outcome));
    else if (!outcome.ok) printText(screen.stderr, `${outcome.file}: ${errorLines(outcome)}`);
  }

  await Promise.all(Array.from({ length: Math.min(most, jobs.length) }, work));
  if (watched) progress.finish(failed);
  return failed;
}

interface Progress {
  clear(): void;
  advance(failed: number): void;
  finish(failed: number): void;
}

function createProgress(total: number, stderr: Screen['stderr']): Progress {
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
    advance(failed) {
      done += 1;
      if (Date.now() - last < refreshMs && done < total) return;
      last = Date.now();
      draw(failed);
    },
    finish(failed) {
      draw(failed);
      stderr.write('\n');
    },
  };
}

/** Where results and errors of `call` are written. */
export interface Screen {
  stdout: { write(data: string | Uint8Array): unknown; isTTY?: boolean };
  stderr: { write(text: string): unknown; isTTY?: boolean };
}

/** Prints lines for people. They may hold what a server, a plugin or a file's name says, which must not control the terminal. */
export function printText(stream: Screen['stderr'], text: string): void {
  stream.write(`${visible(text)}\n`);
}

/** Prints a document for programs, which on a terminal does not control it either. */
function printJson(stdout: Screen['stdout'], value: unknown, indent?: number): void {
  const json = JSON.stringify(value, undefined, indent);
  stdout.write(`${stdout.isTTY ? visibleJson(json) : json}\n`);
}

/** Prints what came of the one call; gives whether all is well. */
export function printOne(outcome: Outcome, { stdout, stderr }: Screen, json: boolean): boolean {
  if (!outcome.ok) {
    if (json) printJson(stdout, failure(outcome.error, outcome.meta));
    else printText(stderr, `Error: ${errorLines(outcome)}`);
    return false;
  }
  const { result, meta } = outcome;
  if ('out' in result) {
    if (json) printJson(stdout, success(result, meta));
    else printText(stderr, described(result));
    return true;
  }
  if ('data' in result) {
    if (json) printJson(stdout, success(result.data, meta));
    else printJson(stdout, result.data, stdout.isTTY ? 2 : undefined);
    return true;
  }
  return printBytes(result, { stdout, stderr }, json);
}

function printBytes(
  { bytes, type }: Extract<Result, { bytes: unknown }>,
  { stdout, stderr }: Screen,
  json: boolean,
): boolean {
  const readable = /^text\/|[/+](?:json|xml)\b/.test(type);
  if (json || (stdout.isTTY && !readable)) {
    const why = json ? '--json prints one document, and' : 'a terminal cannot show it:';
    printText(
      stderr,
      `Error: the answer is ${type} of ${bytes.length} bytes; ${why} --out FILE writes it to a file`,
    );
    return false;
  }
  if (stdout.isTTY) printText(stdout, Buffer.from(bytes).toString().replace(/\n$/, ''));
  else stdout.write(bytes);
  return true;
}

/** What came of one of many files, for a line of JSON. */
function lineOf(outcome: Outcome): object {
  const { file } = outcome;
  if (outcome.ok) return { file, ok: true, ...resultOf(outcome.result) };
  const { error } = failure(outcome.error, outcome.meta);
  return { file, ok: false, error };
}

function resultOf(result: Result): object {
  if ('bytes' in result) return { type: result.type, size: result.bytes.length };
  return result;
}

/** The same for people: what is wrong with a file. */
function errorLines({ error }: Extract<Outcome, { ok: false }>): string {
  const { code, message, details } = error;
  if (!details) return `${message} (${code})`;
  return details.map(({ field, problem }) => `${field} ${problem}`).join('\n       ');
}

function described({ out, type, size }: Written): string {
  return `Wrote ${out}: ${type}, ${size} bytes`;
}

/** What to say where no helper of this name is there, or none was named: which there are. The first line says it alone. */
export function unknownHelper(
  service: string | undefined,
  helpers: readonly { id: string; summary: string }[],
): string {
  const ids = helpers.map(({ id }) => id);
  const width = Math.max(0, ...ids.map((id) => id.length));
  const list = helpers.map(({ id, summary }) => escapeInvisible(`  ${id.padEnd(width)}  ${summary}`));
  const first = service ? `there is no helper ${quote(service)}${didYouMean(service, ids)}` : 'name a helper';
  return [
    service === undefined ? 'Usage: helper-gateway call SERVICE [--parameter value …] [FILES…]' : first,
    '',
    ...list,
    '',
    'helper-gateway call SERVICE --help shows its parameters.',
    'With --server URL a gateway there does the work, by the key of --key or HELPER_KEY.',
  ].join('\n');
}

/** Says so, and gives the exit code. */
export function printUnknown(
  service: string,
  helpers: Parameters<typeof unknownHelper>[1],
  { stdout, stderr }: Screen,
  json: boolean,
): number {
  const text = unknownHelper(service, helpers);
  if (json) printJson(stdout, { ok: false, error: { code: 'not_found', message: text.split('\n', 1)[0] } });
  else printText(stderr, `Error: ${text}`);
  return usageCode;
}
