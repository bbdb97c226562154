import { hash, randomUUID } from 'node:crypto';
import { readdir, readFile, realpath, stat } from 'node:fs/promises';
import { join, relative } from 'node:path';
import { isBelow, leadsBack } from './is-touched.js';
import { builtinPlugins } from './package-paths.js';
import type { Helper } from './registry.js';
import { version as packageVersion } from './version.js';

/** Past this a file is known by its size and its time, and its content is not read. */
const mostBytes = 4 * 1024 * 1024;
/** Files of a folder; one that holds more is read by nobody. */
const mostFiles = 10_000;
/** What is installed, and what tells of the past. */
const leftAlone = new Set(['node_modules', '.git']);

/**
 * Loads plugins and notes what they are versions of, so that results of one are never taken for another's: the package's own of the
 * package's version, all others of what the files of their folder hold, for plugins may share any of these. The same on every gateway
 * with the same files. Where these changed meanwhile nobody knows what was loaded: that version is like no other.
 */
export async function withVersions<T>(
  folders: readonly string[],
  load: () => Promise<T>,
): Promise<{ loaded: T; versionOf: (helper: Pick<Helper, 'file' | 'shipped'>) => string }> {
  const before = await readVersions(folders);
  const loaded = await load();
  const after = await readVersions(folders);
  return {
    loaded,
    versionOf({ file, shipped }) {
      if (shipped) return packageVersion;
      const folder = folders.find((each) => isBelow(each, file)) ?? '';
      const version = before.get(folder);
      return version !== undefined && version === after.get(folder) ? version : randomUUID();
    },
  };
}

async function readVersions(folders: readonly string[]): Promise<Map<string, string>> {
  const versions = new Map<string, string>();
  for (const folder of folders) {
    if (folder === builtinPlugins) continue;
    // What cannot be read is told where it is loaded.
    const version = await readVersion(folder).catch(() => undefined);
    if (version !== undefined) versions.set(folder, version);
  }
  return versions;
}

async function readVersion(folder: string): Promise<string | undefined> {
  const files: string[] = [];
  await list(folder, files);
  if (files.length > mostFiles) return undefined;
  const lines: string[] = [];
  for (const file of files.sort()) lines.push(`${relative(folder, file)}\n${await contentOf(file)}\n`);
  return hash('sha256', lines.join(''), 'base64url');
}

async function list(folder: string, files: string[], around: readonly string[] = []): Promise<void> {
  const inside = [...around, await realpath(folder)];
  for (const entry of await readdir(folder, { withFileTypes: true })) {
    if (leftAlone.has(entry.name) || files.length > mostFiles) continue;
    const path = join(folder, entry.name);
    // Links count as what they point to.
    const kind = entry.isSymbolicLink() ? await stat(path).catch(() => entry) : entry;
    if (kind.isDirectory()) {
      // One that leads back to where it lies has nothing of its own.
      if (!leadsBack(await realpath(path), inside)) await list(path, files, inside);
    } else if (kind.isFile()) files.push(path);
  }
}

async function contentOf(file: string): Promise<string> {
  const { size, mtimeMs } = await stat(file);
  return size > mostBytes ? `${size} ${mtimeMs}` : hash('sha256', await readFile(file), 'base64url');
}
