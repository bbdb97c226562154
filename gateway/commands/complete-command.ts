import type { Argument, Command, Option } from 'commander';

/** A word that may stand where the cursor is. */
export interface Candidate {
  value: string;
  description?: string | undefined;
}

/** What a shell offers. `rest` has it complete files of its own too, by the directives of cobra's completion protocol. */
export interface Completion {
  candidates: Candidate[];
  rest: 'nothing' | 'files' | 'folders';
}

const directives = { files: 0, nothing: 4, folders: 16 } as const;
const longest = 80;

export const nothing: Completion = { candidates: [], rest: 'nothing' };
export const files: Completion = { candidates: [], rest: 'files' };
export const folders: Completion = { candidates: [], rest: 'folders' };

/** Those that go on from what is typed. */
export function beginningWith(typed: string, candidates: readonly Candidate[]): Completion {
  return { candidates: candidates.filter(({ value }) => value.startsWith(typed)), rest: 'nothing' };
}

/** The same with what stands before the value in one word with it. */
export function prefixed(prefix: string, { candidates, rest }: Completion): Completion {
  return { rest, candidates: candidates.map((each) => ({ ...each, value: prefix + each.value })) };
}

/** A line for each candidate, `word\tdescription`, and `:directive` as the last. */
export function asLines({ candidates, rest }: Completion): string {
  const lines = candidates.map(({ value, description }) =>
    description ? `${oneLine(value)}\t${shortened(oneLine(description))}` : oneLine(value),
  );
  return [...lines, `:${directives[rest]}`, ''].join('\n');
}

function oneLine(text: string): string {
  return text.replace(/\p{C}+/gu, ' ');
}

function shortened(text: string): string {
  return text.length > longest ? `${text.slice(0, longest - 1)}…` : text;
}

/** Where a line of words has led to. */
interface CommandPlace {
  command: Command;
  /** The words behind its name, without the one that is being typed. */
  before: string[];
}

/** Follows the names of commands at the beginning of a line. */
export function placeOf(program: Command, words: readonly string[]): CommandPlace {
  let command = program;
  let at = 0;
  for (const word of words) {
    const inner = command.commands.find((each) => each.name() === word);
    if (!inner) break;
    command = inner;
    at += 1;
  }
  return { command, before: words.slice(at) };
}

/** Completes a word of a command by its commander definition: subcommands, options, and values. */
export function completeCommand({ command, before }: CommandPlace, typed: string): Completion {
  const help = command.createHelp();
  const options = help.visibleOptions(command);
  const [flag, value] = /^(--[^=]+)=(.*)$/s.exec(typed)?.slice(1) ?? [];
  const named = (name: string | undefined) => options.find((option) => isCalled(option, name));
  if (flag !== undefined) return prefixed(`${flag}=`, valuesOf(named(flag), value ?? ''));
  const pending = named(before.at(-1));
  if (pending?.required) return valuesOf(pending, typed);
  if (typed.startsWith('-')) {
    const given = options.filter(
      (option) => option.variadic || !before.some((word) => isCalled(option, word)),
    );
    return beginningWith(
      typed,
      given.map((option) => ({ value: option.long ?? option.flags, description: option.description })),
    );
  }
  if (command.commands.length > 0) {
    const inner = help.visibleCommands(command);
    return beginningWith(
      typed,
      inner.map((each) => ({ value: each.name(), description: each.description() })),
    );
  }
  const operands = before.filter((word) => !word.startsWith('-')).length;
  const wanted = command.registeredArguments;
  return valuesOf(wanted[Math.min(operands, wanted.length - 1)], typed, wanted.length > operands);
}

/** Values of an option or an argument, by its choices or its placeholder. */
function valuesOf(of: Option | Argument | undefined, typed: string, isWanted = true): Completion {
  if (!of || !(isWanted || of.variadic)) return nothing;
  if (of.argChoices)
    return beginningWith(
      typed,
      of.argChoices.map((value) => ({ value })),
    );
  const placeholder = 'flags' in of ? (/[<[]([^>\]]+)[>\]]/.exec(of.flags)?.[1] ?? '') : of.name();
  if (/^dir/i.test(placeholder)) return folders;
  return /^(?:file|path)/i.test(placeholder) ? files : nothing;
}

function isCalled({ short, long }: Option, word: string | undefined): boolean {
  return word !== undefined && (word === short || word === long);
}
