import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('../..', import.meta.url));

/** `to` is the file, as a path from the root, for a relative import, else the specifier. */
export type ImportLine = { from: string; to: string; typeOnly: boolean };

/** TypeScript files below a folder of the repository; of plugins written for tests, none. */
export function sources(folder: string): string[] {
  return readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
    .map((name) => join(folder, name))
    .filter((name) => /\.tsx?$/.test(name) && !name.startsWith(join('test', 'fixtures')))
    .sort();
}

/** Reads the import lines of files, those of types alone too. */
export function importsOf(files: readonly string[]): ImportLine[] {
  const known = new Set(files);
  return files.flatMap((from) => {
    const found = readFileSync(join(root, from), 'utf8').matchAll(
      /^\s*(?:import|export)\s+(type\s)?(?:[^;'"]*?from\s+)?'([^']+)'|import\('([^']+)'\)/gm,
    );
    return [...found].map(([, type, line, call]) => {
      const to = fileOf(from, (line ?? call) as string, known);
      return { from, to, typeOnly: type !== undefined };
    });
  });
}

function fileOf(from: string, specifier: string, known: ReadonlySet<string>): string {
  if (!specifier.startsWith('.')) return specifier;
  const built = relative(root, resolve(root, dirname(from), specifier));
  const source = ['.ts', '.tsx']
    .map((ending) => built.replace(/\.js$/, ending))
    .find((file) => known.has(file));
  return source ?? built;
}

/** Every circle that following imports comes upon, as `a → b → a`. */
export function circles(lines: readonly ImportLine[]): string[] {
  const targets = new Map<string, string[]>();
  for (const { from, to } of lines) targets.set(from, [...(targets.get(from) ?? []), to]);
  const found: string[] = [];
  const done = new Set<string>();

  function follow(file: string, path: readonly string[]): void {
    const at = path.indexOf(file);
    if (at >= 0) found.push([...path.slice(at), file].join(' → '));
    if (at >= 0 || done.has(file)) return;
    for (const next of targets.get(file) ?? []) follow(next, [...path, file]);
    done.add(file);
  }

  for (const file of targets.keys()) follow(file, []);
  return found;
}
