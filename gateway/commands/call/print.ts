import { visible } from '../../../schemas/quote.js';
import { failure, success } from '../../http/envelope.js';
import type { Outcome, Result, Written } from './outcome.js';

/** Where results and errors of `call` are written. */
export interface Screen {
  stdout: { write(data: string | Uint8Array): unknown; isTTY?: boolean };
  stderr: { write(text: string): unknown; isTTY?: boolean };
}

/** Prints what came of the one call; gives whether all is well. */
export function printOne(outcome: Outcome, { stdout, stderr }: Screen, json: boolean): boolean {
  if (!outcome.ok) {
    if (json) stdout.write(`${JSON.stringify(failure(outcome.error, outcome.meta))}\n`);
    else stderr.write(`Error: ${errorLines(outcome)}\n`);
    return false;
  }
  const { result, meta } = outcome;
  if ('out' in result) {
    if (json) stdout.write(`${JSON.stringify(success(result, meta))}\n`);
    else stderr.write(`${described(result)}\n`);
    return true;
  }
  if ('data' in result) {
    stdout.write(`${json ? JSON.stringify(success(result.data, meta)) : jsonFor(stdout, result.data)}\n`);
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
    stderr.write(
      `Error: the answer is ${type} of ${bytes.length} bytes; ${why} --out FILE writes it to a file\n`,
    );
    return false;
  }
  stdout.write(bytes);
  if (readable && stdout.isTTY && bytes.at(-1) !== 0x0a) stdout.write('\n');
  return true;
}

/** What came of one of many files, as a line of JSON. */
export function lineOf(outcome: Outcome): string {
  const { file } = outcome;
  if (outcome.ok) return JSON.stringify({ file, ok: true, ...resultOf(outcome.result) });
  const { error } = failure(outcome.error, outcome.meta);
  return JSON.stringify({ file, ok: false, error });
}

function resultOf(result: Result): object {
  if ('bytes' in result) return { type: result.type, size: result.bytes.length };
  return result;
}

/** The same for people: what is wrong with a file. */
export function errorLines({ error }: Extract<Outcome, { ok: false }>): string {
  const { code, message, details } = error;
  if (!details) return `${visible(message)} (${code})`;
  return details.map(({ field, problem }) => visible(`${field} ${problem}`)).join('\n       ');
}

function described({ out, type, size }: Written): string {
  return `Wrote ${out}: ${type}, ${size} bytes`;
}

function jsonFor(stdout: Screen['stdout'], data: unknown): string {
  return stdout.isTTY ? JSON.stringify(data, undefined, 2) : JSON.stringify(data);
}
