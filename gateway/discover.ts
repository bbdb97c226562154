import type { Dirent } from 'node:fs';
import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';

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

const segment = /^[a-z0-9][a-z0-9._-]{0,62}$/;
const moduleFile = /\.m?js$/;
const indexNames = ['index.js', 'index.mjs'];

/**
 * Finds the plugins below a folder: `<route>/index.{js,mjs}` or `<route>.{js,mjs}`. Whatever else lies in a plugin's
 * folder is its own, dot-files and node_modules are nobody's. Faults are reported, not thrown, so that all are told at once.
 */
export async function discoverPlugins(
  folder: string,
): Promise<{ plugins: FoundPlugin[]; problems: PluginProblem[] }> {
  const plugins: FoundPlugin[] = [];
  const problems: PluginProblem[] = [];

  async function walk(path: string, route: string[]): Promise<void> {
    const entries = await list(path);
    const index = indexNames.filter((name) => entries.some((entry) => entry.name === name && !entry.folder));
    if (index.length > 0) {
      if (index.length > 1)
        problems.push({ file: path, reason: `holds both ${index.join(' and ')}; keep one` });
      else add(join(path, index[0] as string), route);
      return;
    }
    for (const entry of entries) {
      const inside = join(path, entry.name);
      if (entry.folder) await walk(inside, [...route, entry.name]);
      else if (moduleFile.test(entry.name)) add(inside, [...route, entry.name.replace(moduleFile, '')]);
    }
  }

  function add(file: string, route: string[]): void {
    const bad = route.find((part) => !segment.test(part));
    if (route.length === 0) {
      problems.push({ file, reason: 'has no route: put it into a folder, whose path becomes the route' });
    } else if (bad !== undefined) {
      problems.push({
        file,
        reason: `"${bad}" cannot be part of a route: use lower-case letters, digits and hyphens`,
      });
    } else plugins.push({ id: route.join('/'), file });
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
  const seen = entries.filter((entry) => !entry.name.startsWith('.') && entry.name !== 'node_modules');
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
