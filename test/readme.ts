import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

/** The checkout's folder; what is documented lies in the sources, and the build copies none of it. */
export const root = fileURLToPath(new URL('../..', import.meta.url));

/** A file of the checkout, e.g. `gateway/http/README.md`. */
export function readText(path: string): string {
  return readFileSync(`${root}/${path}`, 'utf8');
}

/** The cells of every row of a text's tables, without the lines between heading and body. */
export function rowsOf(text: string): string[][] {
  return text
    .split('\n')
    .filter((line) => line.startsWith('|') && !/^\|[\s|:-]+\|$/.test(line))
    .map((line) =>
      line
        .slice(1, -1)
        .split(/(?<!\\)\|/)
        .map((cell) => cell.trim()),
    );
}

/** What stands in code type in a cell. */
export function codesIn(cell = ''): string[] {
  return [...cell.matchAll(/`([^`]+)`/g)].map((match) => match[1] as string);
}

/** The part of a text below a heading, to the next heading of its level or above. */
export function sectionOf(text: string, heading: string): string {
  const [, level = '', rest = ''] = new RegExp(`^(#+) ${heading}\\n([\\s\\S]*)`, 'm').exec(text) ?? [];
  const end = rest.search(new RegExp(`^#{1,${level.length}} `, 'm'));
  return end < 0 ? rest : rest.slice(0, end);
}
