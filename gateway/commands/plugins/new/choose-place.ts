import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { basename, dirname, isAbsolute, join, relative, resolve, sep } from 'node:path';
import { inputError } from '../../../errors.js';
import { partProblem, reservedProblem } from '../../../helpers/route-rules.js';
import { editorFile, packageFile } from './folder-files.js';

/** Where a new plugin goes. */
export interface Place {
  /** The folder of plugins. */
  dir: string;
  /** The route below it, without a file's ending. */
  route: string;
}

export interface PlaceOptions {
  /** The folder of plugins, where it was named. */
  dir?: string | undefined;
  /** The gateway's folders of plugins. */
  known: readonly string[];
  cwd: string;
}

/**
 * Reads a path as the folder of plugins and the route below it, which only what is there can tell apart: a folder that was named
 * or that the gateway serves, else one that `plugins new` has written to, else the deepest that exists. Throws `invalid_input`.
 */
export function choosePlace(path: string, { dir, known, cwd }: PlaceOptions): Place {
  const file = resolve(cwd, path).replace(/\.m?[jt]s$/, '');
  const folder = dir === undefined ? folderOf(file, path, known, cwd) : resolve(cwd, dir);
  const route = relative(folder, file).split(sep);
  if (route[0] === '..' || route.join('') === '') {
    throw problem(`must lie below the folder of plugins, ${folder}`);
  }
  const id = route.join('/');
  const wrong = partProblem(route) ?? reservedProblem(id);
  if (wrong !== undefined) throw problem(`names no route: ${wrong}`);
  return { dir: folder, route: id };
}

function folderOf(file: string, path: string, known: readonly string[], cwd: string): string {
  const above = ancestorsOf(file);
  const served = known.map((each) => resolve(cwd, each));
  const sure = above.find((each) => served.includes(each)) ?? above.find(isWritten);
  if (sure !== undefined) return sure;
  const deepest = above.find(isFolder) ?? dirname(file);
  // The folder that one stands in is seldom meant where a path names another: `helpers/text/shout` before there is `helpers`.
  const below = relative(cwd, file).split(sep);
  const named = !isAbsolute(path) && deepest === cwd && below.length > 1;
  if (named) return join(cwd, below[0] ?? '');
  const isNear = !isAbsolute(path) && below[0] !== '..';
  const isNew = deepest !== dirname(file) && !isNear && !mayHoldPlugins(deepest);
  return isNew ? join(deepest, relative(deepest, file).split(sep)[0] ?? '') : deepest;
}

/** Whether nothing is in a folder, or modules are, there or one folder further down; projects below are not looked into. */
function mayHoldPlugins(folder: string): boolean {
  const entries = readdirSync(folder, { withFileTypes: true });
  const isModule = (name: string) => /^[^.].*\.m?[jt]s$/.test(name);
  const folders = entries.filter((each) => each.isDirectory() && !/^\.|^node_modules$/.test(each.name));
  const below = folders.map(({ name }) => namesIn(join(folder, name)));
  return (
    entries.length === 0 ||
    entries.some((each) => each.isFile() && isModule(each.name)) ||
    below.some((names) => !names.includes('package.json') && names.some(isModule))
  );
}

function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}

/** The folders that a file would lie in, the nearest first. */
function ancestorsOf(file: string): string[] {
  const folder = dirname(file);
  return folder === file || basename(folder) === '' ? [folder] : [folder, ...ancestorsOf(folder)];
}

function isFolder(path: string): boolean {
  return existsSync(path) && statSync(path).isDirectory();
}

/** Whether what `plugins new` writes for a folder of plugins is there. */
function isWritten(folder: string): boolean {
  return [packageFile, editorFile].some(({ name, mark }) => {
    const path = join(folder, name);
    return existsSync(path) && readFileSync(path, 'utf8').includes(mark);
  });
}

function problem(reason: string): Error {
  return inputError([{ field: 'dir/route', problem: reason }]);
}
