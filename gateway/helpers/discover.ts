import type { Dirent } from 'node:fs';
import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { isLeftAlone, type ModuleFile, modulesAmong } from './plugin-files.js';
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

/**
 * Finds the plugins below a folder: `<route>/index.{js,mjs,ts,mts}` or `<route>.{js,mjs,ts,mts}`. Whatever else lies in a
 * plugin's folder is its own; what begins with `_` or `.`, tests and node_modules are nobody's; other modules, such as JSX, are
 * refused. Faults are reported, not thrown, so that all are told at once.
 */
export async function discoverPlugins(
  folder: string,
): Promise<{ plugins: FoundPlugin[]; problems: PluginProblem[] }> {
  const plugins: FoundPlugin[] = [];
  const problems: PluginProblem[] = [];

  async function walk(path: string, route: string[]): Promise<void> {
    const entries = await list(path);
    const modules = modulesAmong(entries.filter(({ folder }) => !folder).map(({ name }) => name));
    const indexes = modules.filter(({ stem }) => stem === 'index');
    if (indexes.length > 0) return addIndex(path, route, indexes);
    for (const { name, folder } of entries) {
      if (folder) await walk(join(path, name), [...route, name]);
      const module = folder ? undefined : modules.find(({ file }) => file === name);
      if (module) add(join(path, name), [...route, module.stem], module.refused);
    }
  }

  function addIndex(path: string, route: string[], indexes: ModuleFile[]): void {
    const loadable = indexes.filter(({ refused }) => refused === undefined);
    const [first] = loadable.length > 0 ? loadable : indexes;
    if (loadable.length > 1) {
      const names = loadable.map(({ file }) => file);
      problems.push({ file: path, reason: `holds both ${names.join(' and ')}; keep one` });
    } else if (first) add(join(path, first.file), route, first.refused);
  }

  function add(file: string, route: string[], refused: string | undefined): void {
    const bad = partProblem(route);
    if (refused !== undefined) problems.push({ file, reason: refused });
    else if (route.length === 0) {
      problems.push({ file, reason: 'has no route: put it into a folder, whose path becomes the route' });
    } else if (bad !== undefined) problems.push({ file, reason: bad });
    else plugins.push({ id: route.join('/'), file });
  }

  try {
    await walk(folder, []);
  } catch (error) {
    problems.push({ file: folder, reason: `cannot be read as a folder of plugins (${reasonOf(error)})` });
  }
  return { plugins, problems };
}

async function list(path: string): Promise<{ name: string; folder: boolean }[]> {
  const entries = await readdir(path, { withFileTypes: true });
  const seen = entries.filter((entry) => !isLeftAlone(entry.name));
  seen.sort((a, b) => (a.name < b.name ? -1 : 1));
  return Promise.all(seen.map(async (entry) => ({ name: entry.name, folder: await isFolder(path, entry) })));
}

/** Links count as what they point to: operators link plugin folders into place. */
async function isFolder(path: string, entry: Dirent): Promise<boolean> {
  if (!entry.isSymbolicLink()) return entry.isDirectory();
  return (await stat(join(path, entry.name))).isDirectory();
}

function reasonOf(error: unknown): string {
  const { code, message } = error as NodeJS.ErrnoException;
  if (code === 'ENOENT') return 'it does not exist';
  if (code === 'ENOTDIR') return 'it is a file';
  return code ?? message;
}
