import { readFileSync } from 'node:fs';
import type { Argument, Command, Option } from 'commander';
import { bin, commandAssets, commandName, quoteWord } from './process.js';

/** A script by which a shell asks this installation, by its own path, what may stand where the cursor is. */
export function scriptOf(shell: string): string {
  const text = readFileSync(new URL(`completion.${shell}`, commandAssets), 'utf8');
  const ask = `${quoteWord(process.execPath)} ${quoteWord(bin)} complete --`;
  const print = `${commandName()} completion ${shell}`;
  return text.replaceAll('{{ask}}', () => ask).replaceAll('{{print}}', () => print);
}

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

/** The command that the words of a line name, and those behind its name. */
export function placeOf(command: Command, words: string[]): { command: Command; before: string[] } {
  const inner = command.commands.find((each) => each.name() === words[0]);
  return inner ? placeOf(inner, words.slice(1)) : { command, before: words };
}

/** Completes a word of a command by its commander definition: subcommands, options, and values. */
export function completeCommand({ command, before }: ReturnType<typeof placeOf>, typed: string): Completion {
  const help = command.createHelp();
  const options = help.visibleOptions(command);
  const [flag, value] = /^(--[^=]+)=(.*)$/s.exec(typed)?.slice(1) ?? [];
  const named = (name: string | undefined) => options.find((option) => isCalled(option, name));
  if (flag !== undefined) return prefixed(`${flag}=`, valuesOf(named(flag), value ?? ''));
  const pending = named(before.at(-1));
  if (pending?.required) return valuesOf(pending, typed);
  if (typed.startsWith('-')) {
    const left = options.filter((each) => each.variadic || !before.some((word) => isCalled(each, word)));
    const named = left.map(({ long, flags, description }) => ({ value: long ?? flags, description }));
    return beginningWith(typed, named);
  }
  if (command.commands.length > 0) {
    const inner = help.visibleCommands(command);
    const named = inner.map((each) => ({ value: each.name(), description: each.description() }));
    return beginningWith(typed, named);
  }
  const operands = before.filter((word) => !word.startsWith('-')).length;
  const wanted = command.registeredArguments;
  return valuesOf(wanted[Math.min(operands, wanted.length - 1)], typed, wanted.length > operands);
}

/** Values of an option or an argument, by its choices or its placeholder. */
function valuesOf(of: Option | Argument | undefined, typed: string, isWanted = true): Completion {
  if (!of || !(isWanted || of.variadic)) return nothing;
  const choices = of.argChoices?.map((value) => ({ value }));
  if (choices) return beginningWith(typed, choices);
  const placeholder = 'flags' in of ? (/[<[]([^>\]]+)[>\]]/.exec(of.flags)?.[1] ?? '') : of.name();
  if (/^dir/i.test(placeholder)) return folders;
  return /^(?:file|path)/i.test(placeholder) ? files : nothing;
}

function isCalled({ short, long }: Option, word: string | undefined): boolean {
  return word !== undefined && (word === short || word === long);
}
