import { visible, visibleJson } from '../../../schemas/quote.js';
import { failure, success } from '../../http/envelope.js';
import type { Outcome, Result, Written } from './outcome.js';

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
export function printJson(stdout: Screen['stdout'], value: unknown, indent?: number): void {
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
export function lineOf(outcome: Outcome): object {
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
export function errorLines({ error }: Extract<Outcome, { ok: false }>): string {
  const { code, message, details } = error;
  if (!details) return `${message} (${code})`;
  return details.map(({ field, problem }) => `${field} ${problem}`).join('\n       ');
}

function described({ out, type, size }: Written): string {
  return `Wrote ${out}: ${type}, ${size} bytes`;
}
