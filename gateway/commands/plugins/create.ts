import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { readFile, realpath, writeFile } from 'node:fs/promises';
import { basename, dirname, isAbsolute, join, relative, resolve, sep } from 'node:path';
import { fileURLToPath } from 'node:url';
import { GatewayError, inputError } from '../../errors.js';
import { makeFolder, writeProblem } from '../../file-system.js';
import { discoverPlugins, partProblem, reservedProblem } from '../../plugins/discover.js';
import { builtinPlugins } from '../../plugins/paths.js';
import type { Answer } from '../output.js';
import { commandName, quoteWord } from '../process.js';
import {
  editorFile,
  editorText,
  type Installed,
  packageFile,
  packageText,
  pluginText,
  testText,
} from './templates.js';

export interface NewOptions {
  ts?: boolean;
  dir?: string;
}

/** The folder that holds the package. */
const root = fileURLToPath(new URL('.', import.meta.resolve('helper-gateway/package.json')));

/**
 * Writes a plugin that works, its test, and what its folder lacks for editors and Node. Nothing that is there is touched. Throws
 * `invalid_input` for a path that can be no helper's, `exists` where one is there.
 */
export async function createPlugin(
  path: string,
  { ts: typescript = false, dir }: NewOptions,
  env: Readonly<Record<string, string | undefined>>,
): Promise<Answer> {
  const cwd = process.cwd();
  const place = choosePlace(path, { dir, known: env.HELPER_PLUGINS?.split(':').filter(Boolean) ?? [], cwd });
  await refuseTaken(place);
  const ending = typescript ? 'ts' : 'mjs';
  const file = join(place.dir, ...`${place.route}.${ending}`.split('/'));
  const test = file.replace(/(\.\w+)$/, '.test$1');
  const names = { route: place.route, file: `./${basename(file)}`, typescript };
  await makeFolder(dirname(file)).catch((error) => {
    throw noPlace(error, dirname(file), dirname(file));
  });
  const installed = await installedFor(place.dir);
  const written = [file];
  await writeNew(file, pluginText(names));
  for (const [name, text] of [
    [test, testText(names)],
    [join(place.dir, packageFile.name), packageText(installed, packageName(place.dir))],
    [join(place.dir, editorFile.name), editorText(installed)],
  ] as const) {
    if (await writeMissing(name, text)) written.push(name);
  }
  const answer = answerOf(place, written, cwd);
  return typescript ? { ...answer, notes: await moduleNotes(place.dir) } : answer;
}

/** A `package.json` of one's own, as `npm install` writes it, has an editor take TypeScript for CommonJS and mark every import. */
async function moduleNotes(dir: string): Promise<string[]> {
  const own = join(dir, packageFile.name);
  const text = await readFile(own, 'utf8').catch(() => '');
  if (/"type"\s*:\s*"module"/.test(text)) return [];
  return [`For editors ${own} lacks "type": "module".`];
}

function answerOf({ dir, route }: Place, written: readonly string[], cwd: string): Answer {
  const shown = (path: string) => {
    const near = relative(cwd, path) || '.';
    return quoteWord(near.startsWith('..') ? path : near);
  };
  const gateway = commandName();
  return {
    data: { id: route, dir, files: written },
    result: [
      `/${route} is written:`,
      ...written.map((each) => `  ${shown(each)}`),
      'Next:',
      `  ${gateway} plugins test ${shown(dir)}`,
      `  HELPER_PLUGINS=${shown(dir)} ${gateway} call ${route} --text hello`,
      `  ${gateway} dev ${shown(dir)}   # serves it, and again after each edit; then:`,
      `  curl "http://127.0.0.1:8080/${route}?text=hello&ak=$KEY"`,
    ].join('\n'),
  };
}

/** A route that is there already, in the folder or among the package's own, in whatever kind of file. */
async function refuseTaken({ dir, route }: Place): Promise<void> {
  for (const folder of [dir, builtinPlugins]) {
    const { plugins } = await discoverPlugins(folder);
    const taken = plugins.find(({ id }) => id === route);
    if (taken) {
      throw new GatewayError('exists', { message: `the route /${route} is taken by ${taken.file}` });
    }
    // Whatever lies beside a plugin's index is the plugin's own, and no route.
    const around = plugins.find(
      ({ id, file }) => route.startsWith(`${id}/`) && /[\\/]index\.\w+$/.test(file),
    );
    if (around && folder === dir) {
      throw inputError([{ field: 'dir/route', problem: `lies in the folder of the plugin ${around.file}` }]);
    }
  }
}

/** The paths of this installation, from the folder where it goes on to be right when both are moved together. */
async function installedFor(dir: string): Promise<Installed> {
  const from = (await realpath(dir)) === resolve(dir) ? resolve(dir) : undefined;
  const isNear = from !== undefined && from.split(sep)[1] === root.split(sep)[1];
  const base = isNear
    ? relative(from, root).split(sep).join('/')
    : root.split(sep).join('/').replace(/\/$/, '');
  const path = isNear && !base.startsWith('.') ? `./${base}` : base;
  const types = 'node_modules/@types';
  const typeRoot = existsSync(join(root, types, 'node')) ? `${path}/${types}` : undefined;
  return { bin: `${path}/gateway/bin.cjs`, modules: `${path}/dist/types/gateway`, typeRoot };
}

function packageName(dir: string): string {
  const name = basename(dir)
    .toLowerCase()
    .replace(/[^a-z0-9-]+/g, '-')
    .replace(/^-+|-+$/g, '');
  return name || 'helpers';
}

async function writeNew(file: string, text: string): Promise<void> {
  await writeFile(file, text, { flag: 'wx' }).catch((error) => {
    throw cannotWrite(file, error);
  });
}

/** Whether it was missing, and is written. */
async function writeMissing(file: string, text: string): Promise<boolean> {
  try {
    await writeFile(file, text, { flag: 'wx' });
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
    throw cannotWrite(file, error);
  }
}

function cannotWrite(file: string, error: unknown): GatewayError {
  const { code } = error as NodeJS.ErrnoException;
  if (code === 'EEXIST') return new GatewayError('exists', { message: `${file} is there already` });
  return noPlace(error, file, dirname(file));
}

function noPlace(error: unknown, path: string, folder: string): GatewayError {
  const problem = `cannot be written to: ${writeProblem(error, path, folder)}`;
  return inputError([{ field: 'dir/route', problem }], error);
}

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
    throw placeProblem(`must lie below the folder of plugins, ${folder}`);
  }
  const id = route.join('/');
  const wrong = partProblem(route) ?? reservedProblem(id);
  if (wrong !== undefined) throw placeProblem(`names no route: ${wrong}`);
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

function placeProblem(reason: string): Error {
  return inputError([{ field: 'dir/route', problem: reason }]);
}
