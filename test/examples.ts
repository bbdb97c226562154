import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { readText, root } from './readme.js';

/** A block of code in a README. */
export interface Example {
  page: string;
  /** Where it begins, such as `README.md:37`. */
  place: string;
  /** What stands behind its fence; `console` for an indented block of commands. */
  language: string;
  text: string;
}

/** A command of an example, and what the example says that it prints. */
export type Command = { line: string; output: string };

const parts = ['.deploy', '.github', 'gateway', 'plugins', 'pool', 'schemas', 'test'];

/** All blocks of code of all READMEs. */
export function allExamples(): Example[] {
  const below = parts.flatMap((part) =>
    readdirSync(join(root, part), { recursive: true, encoding: 'utf8' })
      .filter((name) => name.endsWith('.md') && !name.includes('node_modules'))
      .map((name) => join(part, name)),
  );
  return ['README.md', ...below].flatMap(examplesOf);
}

function examplesOf(page: string): Example[] {
  const examples: Example[] = [];
  let open: { indent: number; language: string; lines: string[]; at: number } | undefined;
  const close = () => {
    if (!open) return;
    const { at, language, lines, indent } = open;
    const text = lines.map((line) => line.slice(Math.min(indent, line.search(/\S|$/)))).join('\n');
    examples.push({ page, place: `${page}:${at}`, language, text: `${text.trimEnd()}\n` });
    open = undefined;
  };
  for (const [index, line] of readText(page).split('\n').entries()) {
    const [, space = '', language] = /^( *)```(\w*)$/.exec(line) ?? [];
    if (language !== undefined) {
      if (open) close();
      else open = { indent: space.length, language, lines: [], at: index + 1 };
    } else if (open && open.language !== 'indented') open.lines.push(line);
    else if (!open && line.startsWith('    $ ')) {
      open = { indent: 4, language: 'indented', lines: [line], at: index + 1 };
    } else if (open && (line === '' || line.startsWith('    '))) open.lines.push(line);
    else close();
  }
  close();
  return examples.map((each) => (each.language === 'indented' ? { ...each, language: 'console' } : each));
}

/** The commands of a `console` block, each with what it prints, or a `sh` block as one. */
export function commandsOf({ language, text }: Example): Command[] {
  if (language === 'sh') return [{ line: text, output: '' }];
  return text
    .split(/^\$ /m)
    .slice(1)
    .map((part) => {
      const lines = part.trimEnd().split('\n');
      const end = lines.findIndex((line) => !line.endsWith('\\')) + 1;
      return { line: lines.slice(0, end).join('\n'), output: lines.slice(end).join('\n').trim() };
    });
}

/** A text with all that differs from run to run replaced: ids, keys, times. */
export function masked(text: string): string {
  return text
    .replace(/\b(key|ten|job|hg|hgs|whsec)_[\w-]*(?:…[\w-]*)?/g, '$1_…')
    .replace(/\b[0-9a-f]{8}-[0-9a-f-]{27}\b|\b[0-9a-f]{8}-…/g, '…')
    .replace(/\d{4}-\d\d-\d\d(?:T\d\d:\d\d(?::\d\d\.\d+)?Z)?/g, 'DATE')
    .replace(/\bexp=\d+/g, 'exp=…')
    .replace(/\bsig=[\w-]+/g, 'sig=…')
    .replace(/signing secret, .*/g, 'signing secret, …')
    .replace(/[ -]{2,}/g, ' ')
    .replace(/ +$/gm, '');
}

/** The names of all members of a JSON value, at every depth; of a list its first element's. */
export function shapeOf(value: unknown): unknown {
  if (Array.isArray(value)) return value.length > 0 ? [shapeOf(value[0])] : [];
  if (typeof value !== 'object' || value === null) return null;
  return Object.fromEntries(Object.entries(value).map(([name, each]) => [name, shapeOf(each)]));
}

const surrogates = { from: 0xd800, count: 0x800 };

/**
 * Any character of Unicode, as the `unit` of a text. fast-check's own "binary" takes a second of CPU in each process, for tables of
 * all characters.
 */
export const anyCharacter = fc
  .integer({ min: 0, max: 0x10ffff - surrogates.count })
  .map((code) => String.fromCodePoint(code < surrogates.from ? code : code + surrogates.count));

/** The words of a text, for long lists of examples. */
export function words([text = '']: TemplateStringsArray): string[] {
  return text.trim().split(/\s+/);
}
