import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { readFile, realpath, writeFile } from 'node:fs/promises';
import { basename, dirname, isAbsolute, join, relative, resolve, sep } from 'node:path';
import { fileURLToPath } from 'node:url';
import { GatewayError, inputError } from '../../errors.js';
import { makeFolder, writeProblem } from '../../file-system.js';
import { discoverPlugins, type FoundPlugin, partProblem, reservedProblem } from '../../plugins/discover.js';
import { builtinPlugins } from '../../plugins/paths.js';
import type { Answer } from '../output.js';
import { commandAssets, commandName, quoteWord } from '../process.js';

export interface NewOptions {
  ts?: boolean;
  dir?: string;
}

/** The folder that holds the package. */
const root = fileURLToPath(new URL('.', import.meta.resolve('helper-gateway/package.json')));

/** Writes a plugin that works, its test, and what its folder lacks for editors and Node. Existing files are left as they are. */
export async function createPlugin(
  path: string,
  { ts: typescript = false, dir }: NewOptions,
  env: Readonly<Record<string, string | undefined>>,
): Promise<Answer> {
  const cwd = process.cwd();
  const place = choosePlace(path, { dir, known: env.HELPER_PLUGINS?.split(':').filter(Boolean) ?? [], cwd });
  await refuseOccupied(place);
  const file = join(place.dir, ...`${place.route}.${typescript ? 'ts' : 'mjs'}`.split('/'));
  const folder = dirname(file);
  await makeFolder(folder).catch((error) => {
    throw notWritable(error, folder, folder);
  });
  const installed = await installedFor(place.dir);
  if (!(await writeNew(file, templateText('plugin', place.route, file))))
    throw new GatewayError('exists', { message: `${file} is there already` });
  const written = [file];
  for (const [name, text] of [
    [file.replace(/(\.\w+)$/, '.test$1'), templateText('plugin.test', place.route, file)],
    [join(place.dir, packageFile.name), packageText(installed, packageName(place.dir))],
    [join(place.dir, editorFile.name), editorText(installed)],
  ] as const) {
    if (await writeNew(name, text)) written.push(name);
  }
  const answer = answerOf(place, written, cwd);
  if (!typescript) return answer;
  // With the `package.json` that `npm install` writes, an editor reads TypeScript as CommonJS and marks every import.
  const own = join(place.dir, packageFile.name);
  const isModule = /"type"\s*:\s*"module"/.test(await readFile(own, 'utf8').catch(() => ''));
  return { ...answer, notes: isModule ? [] : [`For editors ${own} lacks "type": "module".`] };
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

/** Refuses a route that the folder or the package has already, in any kind of file. */
async function refuseOccupied({ dir, route }: Place): Promise<void> {
  for (const folder of [dir, builtinPlugins]) {
    const { plugins } = await discoverPlugins(folder);
    const owner = plugins.find(({ id }) => id === route);
    if (owner) throw new GatewayError('exists', { message: `the route /${route} is taken by ${owner.file}` });
    // Files beside a plugin's index belong to that plugin, and have no route.
    const isAround = ({ id, file }: FoundPlugin) =>
      route.startsWith(`${id}/`) && /[\\/]index\.\w+$/.test(file);
    const around = folder === dir && plugins.find(isAround);
    if (around) throw placeError(`lies in the folder of the plugin ${around.file}`);
  }
}

/** The paths of this installation, relative to the folder where both may be moved together. */
async function installedFor(dir: string) {
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

type Installed = Awaited<ReturnType<typeof installedFor>>;

function packageName(dir: string): string {
  const words = basename(dir)
    .toLowerCase()
    .match(/[a-z0-9]+/g);
  return words?.join('-') ?? 'helpers';
}

/** Whether it could be written because it was missing. */
async function writeNew(file: string, text: string): Promise<boolean> {
  try {
    await writeFile(file, text, { flag: 'wx' });
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
    throw notWritable(error, file, dirname(file));
  }
}

function notWritable(error: unknown, path: string, folder: string): GatewayError {
  return placeError(`cannot be written to: ${writeProblem(error, path, folder)}`, error);
}

/** Where a new plugin goes: the folder of plugins, and the route below it. */
interface Place {
  dir: string;
  route: string;
}

interface PlaceOptions {
  /** The folder of plugins, where it was named. */
  dir?: string | undefined;
  /** The gateway's folders of plugins. */
  known: readonly string[];
  cwd: string;
}

/** Splits a path: the folder of plugins is one that was named, is served, was written by `plugins new`, or else the deepest that exists. */
export function choosePlace(path: string, { dir, known, cwd }: PlaceOptions): Place {
  const file = resolve(cwd, path).replace(/\.m?[jt]s$/, '');
  const folder = dir === undefined ? folderOf(file, path, known, cwd) : resolve(cwd, dir);
  const route = relative(folder, file).split(sep);
  if (route[0] === '..' || route.join('') === '')
    throw placeError(`must lie below the folder of plugins, ${folder}`);
  const id = route.join('/');
  const wrong = partProblem(route) ?? reservedProblem(id);
  if (wrong !== undefined) throw placeError(`names no route: ${wrong}`);
  return { dir: folder, route: id };
}

function folderOf(file: string, path: string, known: readonly string[], cwd: string): string {
  const above = ancestorsOf(file);
  const served = known.map((each) => resolve(cwd, each));
  const sure = above.find((each) => served.includes(each)) ?? above.find(isWritten);
  if (sure !== undefined) return sure;
  const deepest = above.find((each) => existsSync(each) && statSync(each).isDirectory()) ?? dirname(file);
  // A path that names a folder means that one, not the current folder: `helpers/text/shout` before `helpers` exists.
  const below = relative(cwd, file).split(sep);
  const named = !isAbsolute(path) && deepest === cwd && below.length > 1;
  if (named) return join(cwd, below[0] ?? '');
  const isNear = !isAbsolute(path) && below[0] !== '..';
  const isNew = deepest !== dirname(file) && !isNear && !mayHoldPlugins(deepest);
  return isNew ? join(deepest, relative(deepest, file).split(sep)[0] ?? '') : deepest;
}

/** Whether a folder is empty, or holds modules, itself or one folder further down; projects below do not count. */
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

/** Whether what `plugins new` writes for a folder of plugins is there. */
function isWritten(folder: string): boolean {
  return [packageFile, editorFile].some(({ name, mark }) => {
    const path = join(folder, name);
    return existsSync(path) && readFileSync(path, 'utf8').includes(mark);
  });
}

function placeError(problem: string, cause?: unknown): GatewayError {
  return inputError([{ field: 'dir/route', problem }], cause);
}

/** A small helper that works, explained by its comments, or a test of it, for Node's own runner, which imports it from `file`. */
function templateText(template: 'plugin' | 'plugin.test', route: string, file: string): string {
  const text = readFileSync(new URL(`${template}.txt`, commandAssets), 'utf8');
  const filled = text.replaceAll('{{route}}', route).replaceAll('{{file}}', `./${basename(file)}`);
  return file.endsWith('.ts') ? filled : `// @ts-check\n${filled}`;
}

/** Files that a folder of plugins gets where it lacks them; `mark` is a text by which they are recognised. */
const packageFile = { name: 'package.json', mark: 'plugins test .' };
const editorFile = { name: 'tsconfig.json', mark: 'helper-gateway/testing' };

/** What makes it a folder of ES modules with a test command; nothing has to be installed for either. */
function packageText({ bin }: Installed, name: string): string {
  const content = {
    name,
    private: true,
    type: 'module',
    scripts: { test: `node ${/^[\w./@+-]+$/.test(bin) ? bin : JSON.stringify(bin)} ${packageFile.mark}` },
  };
  return `${JSON.stringify(content, undefined, 2)}\n`;
}

/** Settings for editors, for JavaScript too. They name this installation, so that no node_modules is needed. */
function editorText({ modules, typeRoot }: Installed): string {
  const content = {
    compilerOptions: {
      target: 'es2023',
      lib: ['es2023'],
      module: 'nodenext',
      // Tests of plugins import Node's own modules.
      ...(typeRoot === undefined ? { types: [] } : { types: ['node'], typeRoots: [typeRoot] }),
      strict: true,
      noEmit: true,
      allowJs: true,
      checkJs: true,
      allowImportingTsExtensions: true,
      erasableSyntaxOnly: true,
      verbatimModuleSyntax: true,
      skipLibCheck: true,
      paths: {
        'helper-gateway/helper': [`${modules}/helper.d.ts`],
        [editorFile.mark]: [`${modules}/testing.d.ts`],
      },
    },
    exclude: ['node_modules'],
  };
  const why = `// For editors and "tsc" alone: plugins run as they are, TypeScript too. "paths" leads to the gateway's types.`;
  return `${why}\n${JSON.stringify(content, undefined, 2)}\n`;
}
