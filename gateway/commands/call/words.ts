import type { FieldProblem } from '../../../schemas/field-problem.js';

/** What the words behind a helper's name say. */
export interface Words {
  /** Values of parameters by their names, as typed. */
  values: Map<string, string>;
  /** Parameters whose value is to be read from standard input. */
  fromInput: string[];
  /** Paths of files, or `-` for standard input. */
  files: string[];
  out?: string;
  outDir?: string;
  /** Options that only some targets have, such as `--server`. */
  more: ReadonlyMap<string, string>;
  json: boolean;
  help: boolean;
  problems: FieldProblem[];
}

const flags = new Set(['json', 'help']);
const settings = new Set(['out', 'out-dir', 'set']);

/**
 * The index of the helper's name among the words; -1 without one. Options may stand before it, and only the helper knows which of them
 * need no value: a word behind an option is the name where no other word can be. If no word is a helper's name, the first one counts
 * as misspelt.
 */
export function serviceAt(
  words: readonly string[],
  isHelper: (word: string) => boolean,
  moreSettings: readonly string[] = [],
): number {
  const withValue = [...settings, ...moreSettings].map((name) => `--${name}`);
  const plain: number[] = [];
  const behindOption: number[] = [];
  for (const [at, word] of words.entries()) {
    if (word === '--') break;
    const before = words[at - 1] ?? '';
    if (word.startsWith('-') || withValue.includes(before)) continue;
    const isFlag = !before.startsWith('--') || before.includes('=') || flags.has(before.slice(2));
    (isFlag ? plain : behindOption).push(at);
  }
  const candidates = [...plain, ...behindOption];
  return candidates.find((at) => isHelper(words[at] as string)) ?? candidates[0] ?? -1;
}

/**
 * Reads the words of `call`: parameters by the schema's own names (`--font_size 20`, `--font_size=20`), booleans alone, and files.
 * A value `-` stands for standard input. `--set name=value` gives a parameter any value, even one with the
 * name of an option. Unknown parameters are left to the helper's own validation.
 */
export function readWords(
  words: readonly string[],
  isBoolean: (name: string) => boolean,
  moreSettings: readonly string[] = [],
): Words {
  const more = new Map<string, string>();
  const read: Words = {
    values: new Map(),
    fromInput: [],
    files: [],
    more,
    json: false,
    help: false,
    problems: [],
  };
  const left = [...words];

  function give(name: string, value: string, literal: boolean): void {
    if (read.values.has(name) || read.fromInput.includes(name)) {
      read.problems.push({ field: name, problem: 'must be given once, but is given more than once' });
    } else if (value === '-' && !literal) read.fromInput.push(name);
    else read.values.set(name, value);
  }

  /** The value of an option that wants one: what stands behind `=`, else the next word where that is no option. */
  function wantedValue(name: string, given: string | undefined): string | undefined {
    if (given !== undefined) return given;
    const next = left[0];
    if (next === undefined || next.startsWith('--')) {
      read.problems.push({ field: name, problem: `needs a value: --${name} VALUE, or --${name}=VALUE` });
      return undefined;
    }
    return left.shift();
  }

  function readSetting(name: string, value: string): void {
    if (moreSettings.includes(name)) more.set(name, value);
    else if (name === 'out') read.out = value;
    else if (name === 'out-dir') read.outDir = value;
    else {
      const at = value.indexOf('=');
      if (at > 0) give(value.slice(0, at), value.slice(at + 1), true);
      else read.problems.push({ field: 'set', problem: 'must be NAME=VALUE' });
    }
  }

  function readOption(name: string, given: string | undefined): void {
    if (flags.has(name) && given === undefined) {
      read[name as 'json' | 'help'] = true;
      return;
    }
    if (isBoolean(name)) {
      const next = given ?? (/^(?:true|false|1|0)$/.test(left[0] ?? '') ? left.shift() : 'true');
      give(name, next ?? 'true', true);
      return;
    }
    const value = wantedValue(name, given);
    if (value === undefined) return;
    if (settings.has(name) || moreSettings.includes(name)) readSetting(name, value);
    else give(name, value, false);
  }

  for (let word = left.shift(); word !== undefined; word = left.shift()) {
    if (word === '--') {
      read.files.push(...left.splice(0));
    } else if (word === '-h') read.help = true;
    else if (/^-./.test(word) && !word.startsWith('--')) {
      const problem = 'is no option: those have two dashes, and a file of this name stands behind --';
      read.problems.push({ field: word, problem });
    } else if (word.startsWith('--')) {
      const at = word.indexOf('=');
      readOption(at < 0 ? word.slice(2) : word.slice(2, at), at < 0 ? undefined : word.slice(at + 1));
    } else read.files.push(word);
  }
  return read;
}

/** Whether the words of a command line name a gateway that is to do the work. */
export function hasServerOption(words: readonly string[]): boolean {
  const end = words.indexOf('--');
  return words
    .slice(0, end < 0 ? undefined : end)
    .some((word, at) => /^--server(?:=|$)/.test(word) && words[at - 1] !== '--set');
}
