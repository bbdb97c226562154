import type { Stats } from 'node:fs';
import { readdir, readFile, readlink, realpath, stat } from 'node:fs/promises';
import { basename, dirname, join, sep } from 'node:path';
import { leadsBack } from './is-touched.js';
import { isLeftAlone, modulesAmong } from './plugin-files.js';
import { partProblem } from './route-rules.js';

/** A plugin's module as found on disk. */
export interface FoundPlugin {
  /** The path below the plugin folder: route and service id, e.g. `text/diff-two-strings`. */
  id: string;
  file: string;
}

/** What is wrong with a plugin, for the operator: which file, and why. */
export interface PluginProblem {
  file: string;
  reason: string;
}

/** The plugins of a folder, and what is wrong with other files. */
export interface DiscoveredPlugins {
  plugins: FoundPlugin[];
  /** What stops a start. */
  problems: PluginProblem[];
  /** What is left out without stopping a start. */
  skipped: PluginProblem[];
}

/**
 * Finds the plugins below a folder: `<route>/index.{js,mjs,cjs,ts,mts}` or `<route>.{js,mjs,cjs,ts,mts}`. Whatever else lies in a
 * plugin's folder is its own; what begins with `_` or `.`, tests and node_modules belong to no plugin; other modules, such as JSX,
 * are refused. Links count as what they point to, but for those that lead to nothing or back to where they lie, which are skipped.
 * Faults are reported, not thrown, so that all are reported at once.
 */
export async function discoverPlugins(folder: string): Promise<DiscoveredPlugins> {
  const found: DiscoveredPlugins = { plugins: [], problems: [], skipped: [] };
  const { plugins, problems, skipped } = found;

  async function walk(path: string, route: string[], around: readonly string[]): Promise<void> {
    const inside = [...around, await realpath(path)];
    const entries = await list(path, inside);
    const modules = modulesAmong(entries.filter(({ folder }) => !folder).map(({ name }) => name));
    const indexes = modules.filter(({ stem }) => stem === 'index');
    for (const { file, refused } of indexes) add(join(path, file), route, refused);
    if (indexes.length > 0) return;
    for (const { name, folder } of entries) {
      if (folder) await walk(join(path, name), [...route, name], inside);
      const module = folder ? undefined : modules.find(({ file }) => file === name);
      if (module) add(join(path, name), [...route, module.stem], module.refused);
    }
  }

  async function list(path: string, inside: readonly string[]): Promise<{ name: string; folder: boolean }[]> {
    const entries = (await readdir(path, { withFileTypes: true })).filter(({ name }) => !isLeftAlone(name));
    entries.sort((a, b) => (a.name < b.name ? -1 : 1));
    const listed: { name: string; folder: boolean }[] = [];
    for (const entry of entries) {
      const { name } = entry;
      const file = join(path, name);
      const kind = entry.isSymbolicLink() ? await readLink(file, inside) : kindOf(entry);
      if ('folder' in kind) listed.push({ name, folder: kind.folder });
      // A socket that a plugin listens on, say, is nothing to report.
      else if (entry.isSymbolicLink() || modulesAmong([name]).length > 0) {
        skipped.push({ file, reason: kind.reason });
      }
    }
    return listed;
  }

  function add(file: string, route: string[], refused: string | undefined): void {
    const bad = partProblem(route);
    if (refused !== undefined) problems.push({ file, reason: refused });
    else if (route.length === 0) {
      const reason =
        'has no route, and hides all that lies beside it: put it into a folder, whose path becomes the route';
      problems.push({ file, reason });
    } else if (bad !== undefined) problems.push({ file, reason: bad });
    else plugins.push({ id: route.join('/'), file });
  }

  try {
    await walk(folder, [], []);
  } catch (error) {
    problems.push({ file: folder, reason: `cannot be read as a folder of plugins (${reasonOf(error)})` });
  }
  return found;
}

/** To read a pipe or a socket would keep a start waiting. */
function kindOf(entry: Pick<Stats, 'isDirectory' | 'isFile'>): { folder: boolean } | { reason: string } {
  const folder = entry.isDirectory();
  return folder || entry.isFile() ? { folder } : { reason: 'is skipped: it is no regular file' };
}

/** What a link below the folders `inside` points to, or why it is skipped. */
async function readLink(
  path: string,
  inside: readonly string[],
): Promise<{ folder: boolean } | { reason: string }> {
  try {
    const target = await realpath(path);
    const kind = kindOf(await stat(target));
    return 'folder' in kind && kind.folder && leadsBack(target, inside)
      ? { reason: `is skipped: the link leads back to ${target}, in which it lies` }
      : kind;
  } catch (error) {
    const target = await readlink(path).catch(() => 'nothing');
    return { reason: `is skipped: the link to ${target} cannot be followed (${reasonOf(error)})` };
  }
}

/** What looks like a helper of its own, in the text of a module. */
const helperParts = [/\bexport\s+default\b|\bexport\s*\{|\bexports\b/, /\bsummary\b/, /\bhandler\b/];
/** Modules below one index that are looked at. */
const mostHidden = 200;

/** Modules that look like helpers and are not served, because an `index` above them takes them for its own. */
export async function hiddenBy({ id, file }: FoundPlugin): Promise<PluginProblem[]> {
  if (!/^index\.\w+$/.test(basename(file))) return [];
  const names = await readdir(dirname(file), { recursive: true }).catch(() => []);
  const own = names.filter((name) => name !== basename(file) && !name.split(sep).some(isLeftAlone));
  const hidden: PluginProblem[] = [];
  for (const name of own.filter((each) => modulesAmong([each]).length > 0).slice(0, mostHidden)) {
    const path = join(dirname(file), name);
    const isFile = (await stat(path).catch(() => undefined))?.isFile();
    const text = isFile ? await readFile(path, 'utf8').catch(() => '') : '';
    if (!helperParts.every((part) => part.test(text))) continue;
    const reason = `is not served: ${file} makes all that lies beside it part of the helper /${id}; put that index into a folder of its own`;
    hidden.push({ file: path, reason });
  }
  return hidden;
}

function reasonOf(error: unknown): string {
  const { code, message } = error as NodeJS.ErrnoException;
  if (code === 'ENOENT') return 'it does not exist';
  if (code === 'ENOTDIR') return 'it is a file';
  if (code === 'ELOOP') return 'it leads to itself';
  return code ?? message;
}
