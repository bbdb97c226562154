import { inspect } from 'node:util';
import type { Command } from 'commander';
import type { FieldProblem } from '../../schemas/field-problem.js';
import { escapeInvisible, visible, visibleJson } from '../../schemas/quote.js';
import { reasonOf } from '../database/store-error.js';
import { GatewayError, sentenceOf } from '../errors.js';

/** Where a command writes; a fake in tests. */
export interface Terminal {
  stdout: { write(text: string): unknown; readonly isTTY?: boolean };
  stderr: { write(text: string): unknown };
  setExitCode(code: number): void;
  /** Ends the process at once. */
  exit(code: number): void;
  /** Asks the person at the terminal; a secret answer is not shown. Undefined where there is nobody. */
  ask?(question: string, options?: { secret?: boolean }): Promise<string | undefined>;
}

export const processTerminal: Terminal = {
  stdout: process.stdout,
  stderr: process.stderr,
  setExitCode(code) {
    process.exitCode = code;
  },
  exit: (code) => process.exit(code),
  async ask(question, { secret = false } = {}) {
    if (!process.stdin.isTTY) return undefined;
    const [{ createInterface }, { PassThrough }] = await Promise.all([
      import('node:readline/promises'),
      import('node:stream'),
    ]);
    // Before the question: from here on the terminal itself shows nothing of what is typed.
    const output = secret ? new PassThrough().resume() : process.stderr;
    const lines = createInterface({ input: process.stdin, output, terminal: true });
    if (secret) process.stderr.write(question);
    try {
      return (await lines.question(secret ? '' : question)).trim();
    } finally {
      lines.close();
      if (secret) process.stderr.write('\n');
    }
  },
};

/** The flag of every command that prints for programs, too. */
export const jsonOption = ['--json', 'print one JSON document'] as const;

export interface JsonOption {
  json?: boolean;
}

/** What a command prints: `data` for programs, the rest for people. */
export interface Answer {
  /** Printed as `{ok: true, data}` with --json. */
  data: Record<string, unknown>;
  /** Explanations, to stderr, so that stdout holds the result alone. */
  notes?: string[];
  /** The result, to stdout. */
  result?: string;
  /** What failed although there is a result: the exit code is 1 then. */
  failure?: Failure | undefined;
}

interface Failure {
  code: string;
  message: string;
  details?: FieldProblem[];
}

/** Exit code of wrong usage; 1 is for a failure. */
const usageCode = 2;

/** Runs a command's work and prints its answer or its error: one line for people, an envelope with --json. */
export async function answer(terminal: Terminal, json: boolean, work: () => Promise<Answer>): Promise<void> {
  try {
    const { data, notes = [], result, failure } = await work();
    if (failure) terminal.setExitCode(1);
    if (json)
      return printJson(terminal.stdout, failure ? { ok: false, error: failure, data } : { ok: true, data });
    for (const note of notes) print(terminal.stderr, visible(note));
    // A file or a program gets it unchanged.
    if (result !== undefined) print(terminal.stdout, terminal.stdout.isTTY ? visible(result) : result);
    if (failure) print(terminal.stderr, visible(`Error: ${failure.message}`));
  } catch (error) {
    terminal.setExitCode(1);
    if (json) printJson(terminal.stdout, { ok: false, error: describeError(error) });
    else print(terminal.stderr, visible(`Error: ${sentence(error)}`));
  }
}

/** Makes wrong usage end with exit code 2, with an envelope for --json; subcommands that are added later inherit it. */
export function usageErrors(command: Command, terminal: Terminal): Command {
  return command
    .configureOutput({
      writeOut: (text) => terminal.stdout.write(text),
      writeErr: (text) => terminal.stderr.write(visible(text)),
      outputError(text, write) {
        if (!wantsJson(command)) return write(text);
        const error = { code: 'invalid_input', message: text.trim().replace(/^error: /, '') };
        printJson(terminal.stdout, { ok: false, error });
      },
    })
    .exitOverride((error) => {
      terminal.exit(error.exitCode === 0 ? 0 : usageCode);
      throw error;
    });
}

/** Why the program ended. An expected error's message says what to repair; a bug has its stack. */
export function failureText(error: unknown): string {
  const isExpected = error instanceof Error && !/^(Type|Reference|Range|Syntax)Error$/.test(error.name);
  return visible(isExpected ? `helper-gateway: ${error.message}` : inspect(error));
}

function wantsJson(command: Command): boolean {
  let root: Command & { rawArgs?: string[] } = command;
  while (root.parent) root = root.parent;
  return root.rawArgs?.includes('--json') ?? false;
}

/** An error as programs get it. */
export function describeError(error: unknown): Failure {
  // By its name: importing the class would load the configuration's schema with every command.
  if (error instanceof Error && error.name === 'ConfigError')
    return { code: 'invalid_input', message: sentence(error) };
  if (!(error instanceof GatewayError)) return { code: 'internal', message: sentence(error) };
  const { code, details } = error;
  const message = code === 'keys_unavailable' ? sentence(error) : error.message;
  return details ? { code, message, details } : { code, message };
}

/** Problems that one line names; more have a line each. */
const mostInLine = 4;

/** An error in words for the operator. */
export function sentence(error: unknown): string {
  if (!(error instanceof GatewayError))
    return oneLine(error instanceof Error ? error.message : String(error));
  const problems = error.details?.map(sentenceOf);
  if (problems) return problems.length > mostInLine ? ['', ...problems].join('\n  ') : problems.join('; ');
  // The operator, who runs this command, may read the database's own words.
  if (error.code !== 'keys_unavailable' || error.cause === undefined) return error.message;
  return `The database does not answer: ${oneLine(reasonOf(error))}`;
}

/** On one line; the indented lines of a list become its parts. */
function oneLine(text: string): string {
  return text
    .replace(/: *\n {2}/, ': ')
    .replace(/\n {2}/g, '; ')
    .replace(/\s*\n\s*/g, ' ')
    .trim();
}

function print(stream: Terminal['stdout'], text: string): void {
  stream.write(`${text}\n`);
}

/** Prints a document for programs, which must not control a terminal either. */
export function printJson(stdout: Terminal['stdout'], value: unknown, indent?: number): void {
  const json = JSON.stringify(value, undefined, indent);
  print(stdout, stdout.isTTY ? visibleJson(json) : json);
}

/** A table below its headings, without colours and borders, so that `grep` and `awk` can read it (packages for tables draw both). */
export function formatTable(headings: string[], rows: string[][]): string {
  const isNumber = headings.map((_, at) => rows.every((row) => /^(?:-|\d+(?:\.\d+)?)$/.test(row[at] ?? '')));
  return columns([headings, ...rows], isNumber).join('\n');
}

/** Names and values below each other. */
export function formatFacts(facts: readonly (readonly [name: string, value: string | null])[]): string {
  return columns(facts.map(([name, value]) => [name, value ?? '-'])).join('\n');
}

/** `2030-01-31T18:00Z`: to the minute is enough for people, and the zone stays on it. */
export function minute(time: string | null, none = '-'): string {
  return time === null ? none : `${time.slice(0, 16)}Z`;
}

/** Lines with aligned columns, some `toTheRight`. Invisible characters are shown as their codes. */
export function columns(rows: readonly (readonly string[])[], toTheRight: readonly boolean[] = []): string[] {
  const cells = rows.map((row) => row.map(escapeInvisible));
  const widthOf = (cell = '') => [...cell].length;
  const widths = (cells[0] ?? []).map((_, at) => Math.max(...cells.map((row) => widthOf(row[at]))));
  function align(cell: string, at: number): string {
    const space = ' '.repeat((widths[at] ?? 0) - widthOf(cell));
    return toTheRight[at] ? space + cell : cell + space;
  }
  return cells.map((row) => row.map(align).join('  ').trimEnd());
}
