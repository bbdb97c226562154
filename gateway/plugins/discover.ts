import type { Stats } from 'node:fs';
import { readdir, readFile, readlink, realpath, stat } from 'node:fs/promises';
import { basename, dirname, join, relative, sep } from 'node:path';
import { didYouMean } from '../../schemas/nearest.js';
import { quote } from '../../schemas/quote.js';
import { builtinPlugins, pathsOf } from './paths.js';

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

/** Plugins, and what is wrong with other files. */
interface FoundPlugins<Plugin> {
  plugins: Plugin[];
  /** What stops a start. */
  problems: PluginProblem[];
  /** What is left out without stopping a start. */
  skipped: PluginProblem[];
}

/**
 * Finds the plugins below a folder: `<route>/index.{js,mjs,cjs,ts,mts}` or `<route>.{js,mjs,cjs,ts,mts,recipe.json}`. Other files beside an
 * `index` are that plugin's own; names with `_` or `.` in front, tests and node_modules are ignored; other modules, such as JSX, are
 * refused. Links count as their targets; those that lead nowhere or back to a folder around them are skipped. Faults are returned,
 * not thrown, so that all are reported at once.
 */
export async function discoverPlugins(folder: string): Promise<FoundPlugins<FoundPlugin>> {
  const plugins: FoundPlugin[] = [];
  const problems: PluginProblem[] = [];
  const skipped: PluginProblem[] = [];

  async function walk(path: string, route: string[], around: readonly string[]): Promise<void> {
    const inside = [...around, await realpath(path)];
    const entries = await list(path, inside);
    const modules = modulesAmong(entries.filter(({ folder }) => !folder).map(({ name }) => name));
    const indexes = modules.filter(({ stem, file }) => stem === 'index' && !isRecipeFile(file));
    for (const { file, refused } of indexes) add(join(path, file), route, refused);
    if (indexes.length > 0) return;
    for (const { name, folder } of entries) {
      if (folder) await walk(join(path, name), [...route, name], inside);
      const module = folder ? undefined : modules.find(({ file }) => file === name);
      if (module) add(join(path, name), [...route, module.stem], module.refused);
    }
  }

  async function list(path: string, inside: readonly string[]): Promise<{ name: string; folder: boolean }[]> {
    const entries = (await readdir(path, { withFileTypes: true })).filter(({ name }) => !isIgnored(name));
    entries.sort((a, b) => (a.name < b.name ? -1 : 1));
    const listed: { name: string; folder: boolean }[] = [];
    for (const entry of entries) {
      const { name } = entry;
      const file = join(path, name);
      const kind = entry.isSymbolicLink() ? await readLink(file, inside) : kindOf(entry);
      if ('folder' in kind) listed.push({ name, folder: kind.folder });
      // Other special files, such as a plugin's socket, are not reported.
      else if (entry.isSymbolicLink() || modulesAmong([name]).length > 0) {
        skipped.push({ file, reason: kind.reason });
      }
    }
    return listed;
  }

  function add(file: string, route: string[], refused: string | undefined): void {
    const unrouted =
      'has no route, and hides all that lies beside it: put it into a folder, whose path becomes the route';
    const reason = refused ?? (route.length === 0 ? unrouted : partProblem(route));
    if (reason === undefined) plugins.push({ id: route.join('/'), file });
    else problems.push({ file, reason });
  }

  try {
    await walk(folder, [], []);
  } catch (error) {
    problems.push({ file: folder, reason: `cannot be read as a folder of plugins (${reasonOf(error)})` });
  }
  return { plugins, problems, skipped };
}

/** Reading a pipe or a socket would block the start. */
function kindOf(entry: Pick<Stats, 'isDirectory' | 'isFile'>): { folder: boolean } | { reason: string } {
  const folder = entry.isDirectory();
  return folder || entry.isFile() ? { folder } : { reason: 'is skipped: it is no regular file' };
}

/** The kind of a link's target, or why the link is skipped. */
async function readLink(
  path: string,
  inside: readonly string[],
): Promise<{ folder: boolean } | { reason: string }> {
  try {
    const target = await realpath(path);
    const kind = kindOf(await stat(target));
    return 'folder' in kind && kind.folder && isLinkLoop(target, inside)
      ? { reason: `is skipped: the link leads back to ${target}, in which it lies` }
      : kind;
  } catch (error) {
    const target = await readlink(path).catch(() => 'nothing');
    return { reason: `is skipped: the link to ${target} cannot be followed (${reasonOf(error)})` };
  }
}

/** What the text of a helper contains. */
const helperParts = [/\bexport\s+default\b|\bexport\s*\{|\bexports\b/, /\bsummary\b/, /\bhandler\b/];
/** Modules below one index that are checked. */
const mostHidden = 200;

/** Modules that look like helpers but are not served, because they belong to an `index` above them. */
async function hiddenBy({ id, file }: FoundPlugin): Promise<PluginProblem[]> {
  if (!/^index\.\w+$/.test(basename(file))) return [];
  const names = await readdir(dirname(file), { recursive: true }).catch(() => []);
  const own = names.filter((name) => name !== basename(file) && !name.split(sep).some(isIgnored));
  const hidden: PluginProblem[] = [];
  for (const name of own.filter((each) => modulesAmong([each]).length > 0).slice(0, mostHidden)) {
    const path = join(dirname(file), name);
    const isFile = (await stat(path).catch(() => undefined))?.isFile();
    const text = isFile ? await readFile(path, 'utf8').catch(() => '') : '';
    if (!isRecipeFile(name) && !helperParts.every((part) => part.test(text))) continue;
    const reason = `is not served: ${file} makes all that lies beside it part of the helper /${id}; put that index into a folder of its own`;
    hidden.push({ file: path, reason });
  }
  return hidden;
}

const reasons = new Map([
  ['ENOENT', 'it does not exist'],
  ['ENOTDIR', 'it is a file'],
  ['ELOOP', 'it leads to itself'],
]);

function reasonOf(error: unknown): string {
  const { code, message } = error as NodeJS.ErrnoException;
  return reasons.get(code ?? '') ?? code ?? message;
}

/** The problem of a url whose path is no helper's, to follow the field's name. */
export function noHelperAt(path: string, ids: readonly string[]): string {
  return `has the path ${quote(path)}, which is no helper's${didYouMean(path, ids.flatMap(pathsOf))}`;
}

/** A plugin that has a route of its own. */
export interface RoutedPlugin extends FoundPlugin {
  /** Whether it comes with the package. */
  shipped: boolean;
}

/** Finds the plugins below folders. Each route is the first one's that has it. */
export async function findPlugins(folders: readonly string[]): Promise<FoundPlugins<RoutedPlugin>> {
  const plugins = new Map<string, RoutedPlugin>();
  const problems: PluginProblem[] = [];
  const skipped: PluginProblem[] = [];
  for (const folder of folders) {
    const found = await discoverPlugins(folder);
    problems.push(...found.problems);
    skipped.push(...found.skipped);
    // The package's own plugins hide nothing.
    if (folder !== builtinPlugins) skipped.push(...(await Promise.all(found.plugins.map(hiddenBy))).flat());
    for (const { id, file } of found.plugins) {
      const owner = plugins.get(id);
      const reason = reservedProblem(id) ?? (owner && `the route /${id} is taken by ${owner.file}`);
      if (reason !== undefined) problems.push({ file, reason });
      else plugins.set(id, { id, file, shipped: folder === builtinPlugins });
    }
  }
  return { plugins: [...plugins.values()], problems, skipped };
}

/** A module in a plugin folder. */
interface ModuleFile {
  file: string;
  /** The name without its ending. */
  stem: string;
  /** Why it is not loaded, and what to do, for its author. */
  refused?: string;
}

const loadableEnding = /\.(?:[cm]?js|m?ts|recipe\.json)$/;
const moduleEnding = /\.(?:[cm]?[jt]s|[jt]sx|recipe\.json)$/i;

/** Whether a file is a recipe: steps of other helpers, without code. */
export function isRecipeFile(file: string): boolean {
  return file.endsWith('.recipe.json');
}

/** Whether a file or folder of this name is ignored: `_shared`, `.git`, `x.test.js`, `x.d.ts`, node_modules. */
function isIgnored(name: string): boolean {
  return /^[._]|^node_modules$|\.test\.[^.]+$|\.d\.[cm]?ts$/.test(name);
}

/**
 * The modules among a folder's files. One that cannot be loaded is refused by name, because silence would cost its author an hour.
 * Sources are ignored beside their output (`x.ts` beside `x.js`, `x.mts` beside `x.mjs`), and what cannot be loaded beside what can.
 * Several others of one name are all refused.
 */
function modulesAmong(files: readonly string[]): ModuleFile[] {
  const found = files
    .filter((file) => moduleEnding.test(file))
    .map((file) => ({ file, stem: file.replace(moduleEnding, '') }));
  return found.flatMap((module) => {
    const others = found.filter(({ file, stem }) => stem === module.stem && file !== module.file);
    const rivals = others.map(({ file }) => file).filter((file) => loadableEnding.test(file));
    if (!loadableEnding.test(module.file)) {
      return rivals.length > 0 ? [] : [{ ...module, refused: unloadable(module) }];
    }
    if (isSource(module.file, rivals)) return [];
    const equals = rivals.filter((file) => !isSource(file, [module.file, ...rivals]));
    return [equals.length > 0 ? { ...module, refused: ambiguous(module, equals) } : module];
  });
}

/** Whether the output of this source is among these files. */
function isSource(file: string, files: readonly string[]): boolean {
  return file.endsWith('ts') && files.includes(file.replace(/ts$/, 'js'));
}

const otherwise = 'or begin its name with "_" if it is no plugin';

function ambiguous({ file, stem }: ModuleFile, others: readonly string[]): string {
  const beside = others.join(' and ');
  return `lies beside ${beside}, and only one of them can be ${stem}: keep ${[file, ...others].sort().join(' or ')} (${otherwise})`;
}

function unloadable({ file, stem }: ModuleFile): string {
  const ending = file.slice(stem.length).toLowerCase();
  let remedy = `compile it to ${stem}.js first`;
  if (loadableEnding.test(ending)) remedy = `rename it to ${stem}${ending}`;
  else if (ending === '.cts') remedy = `write an ES module, ${stem}.mts`;
  return `is not loaded with this ending: ${remedy} (${otherwise})`;
}

/** First parts of the gateway's own paths, now or later. */
const reserved = new Set([
  'healthz',
  'readyz',
  'img',
  'docs',
  'openapi.json',
  'mcp',
  'jobs',
  'pipeline',
  'recipes',
]);
const segment = /^[a-z0-9][a-z0-9._-]{0,62}$/;

/** What is wrong with the parts of a route; undefined where it may be one. */
export function partProblem(route: readonly string[]): string | undefined {
  const bad = route.find((part) => !segment.test(part));
  return bad && `${quote(bad)} cannot be part of a route: use lower-case letters, digits and hyphens`;
}

/** Why a helper may not have this id; undefined where nothing is reserved. */
export function reservedProblem(id: string): string | undefined {
  const [first = ''] = id.split('/');
  return reserved.has(first) ? `the route /${first} is the gateway's own` : undefined;
}

/**
 * Whether a changed file may change what a plugin does. Files beside an `index` belong to that plugin alone, as does a plugin's own
 * file (`plugins` are those of all plugins). Any other file is shared by its folder; files in `_shared` by the folder around that.
 */
export function isTouched(file: string, changed: string, plugins: Iterable<string>): boolean {
  if (owns(file, changed)) return true;
  for (const other of plugins) if (owns(other, changed)) return false;
  return isBelow(sharedFolder(changed), file);
}

function owns(plugin: string, file: string): boolean {
  return plugin === file || (/^index\.\w+$/.test(basename(plugin)) && isBelow(dirname(plugin), file));
}

function sharedFolder(file: string): string {
  let folder = dirname(file);
  for (let above = folder; above !== dirname(above); above = dirname(above)) {
    if (/^[._]/.test(basename(above))) folder = dirname(above);
  }
  return folder;
}

/** Whether a file lies below a folder, however either path is written. */
export function isBelow(folder: string, file: string): boolean {
  const path = relative(folder, file);
  return path !== '' && path !== '..' && !path.startsWith(`..${sep}`);
}

/** Whether a folder's real path is one of the folders it lies in, or around one of them. */
export function isLinkLoop(folder: string, inside: readonly string[]): boolean {
  return inside.some((each) => each === folder || isBelow(folder, each));
}
