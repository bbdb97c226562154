import { hash, randomUUID } from 'node:crypto';
import type { Stats } from 'node:fs';
import { readdir, readFile, realpath, stat } from 'node:fs/promises';
import { join, relative } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { Ajv } from 'ajv';
import type { Logger } from 'pino';
import { readThrown } from '../../pool/errors.js';
import type { EngineName } from '../../pool/image/engine.js';
import { encodableBy } from '../../pool/image/options.js';
import { createFontSet } from '../../pool/image/text/fonts.js';
import { hookPlugins, useSources } from '../../pool/plugin-hooks.js';
import { createVocabulary } from '../../schemas/vocabulary.js';
import { findPlugins, isBelow, isLinkLoop } from './discover.js';
import { importDeclaration } from './import-plugin.js';
import { declareHelper } from './inspect-plugins.js';
import { type LoadRegistryOptions, loadRegistry } from './load-registry.js';
import { builtinPlugins, helperUrl, version as packageVersion } from './paths.js';
import { createRecipeCompiler, type RecipeCompiler } from './recipes/recipe.js';
import type { Environment, Helper, Registry } from './registry.js';

export interface LoadHelpersOptions {
  /** Folders of plugins. */
  folders: string[];
  /** Font files and folders besides the shipped one. Texts are checked by whether they can draw them. */
  fonts: readonly string[];
  /** The image engine, known at the first call at the latest. Formats are checked by whether it writes them. */
  engine: () => EngineName | undefined;
  logger: Pick<Logger, 'error' | 'warn'>;
  /** Where required variables must be set; without it they are checked when a helper is called. */
  env?: Environment;
  /** Called with each faulty file, which is left out then; without it they stop the start. */
  onProblem?: LoadRegistryOptions['onProblem'];
  /** When plugins may be read; at once where absent. */
  mayLoad?: Promise<unknown> | undefined;
}

interface LoadedHelpers {
  registry: Registry;
  /** Makes helpers of tenants' recipes, by the same rules. */
  compileRecipe: RecipeCompiler;
}

/** Loads every helper for a gateway. Throws a `PluginError`, or for a font that cannot be read. */
export async function loadHelpers(options: LoadHelpersOptions): Promise<LoadedHelpers> {
  const { folders, engine, logger, env, onProblem, mayLoad } = options;
  const fontSet = await createFontSet(options.fonts);
  const abilities = { canDraw: (text: string) => fontSet.missing(text), canEncode: encodableBy(engine) };
  const vocabulary = () => createVocabulary(abilities);
  const ajv = vocabulary();
  if (mayLoad) await prepare(folders, ajv);
  await mayLoad;
  const load = () =>
    loadRegistry(folders, ajv, {
      env,
      onProblem,
      onSkipped: ({ file, reason }) => logger.warn({ file, reason }, 'plugin file skipped'),
      onLate: (service, error) =>
        logger.error({ err: readThrown(error), service }, 'plugin failed after it was loaded'),
    });
  // Results of single calls are not cached.
  if (!env) return withRecipes(await load(), vocabulary);
  const { loaded, versionOf, sources } = await withVersions(folders, load);
  for (const helper of loaded.values()) {
    helper.version ??= versionOf(helper);
    if (!helper.shipped) helper.sources = sources;
  }
  return withRecipes(loaded, vocabulary);
}

function withRecipes(registry: Registry, vocabulary: () => Ajv): LoadedHelpers {
  return { registry, compileRecipe: createRecipeCompiler(registry, vocabulary) };
}

/**
 * Does in a standby what needs no outside plugin, so that those are loaded sooner. The package's own plugins are checked as outside ones
 * are, because that compiles the schemas of the checks.
 */
async function prepare(folders: string[], ajv: Ajv): Promise<void> {
  const helperModule = helperUrl(folders);
  if (helperModule) hookPlugins(helperModule);
  const { plugins } = await findPlugins([builtinPlugins]);
  for (const plugin of plugins) {
    const { url, declaration } = await importDeclaration(plugin);
    declareHelper({ ...plugin, url, shipped: false }, declaration, ajv);
  }
}

/** Of larger files only size and time count, and their content is not read. */
const mostBytes = 4 * 1024 * 1024;
/** Folders with more files are not read. */
const mostFiles = 10_000;
/** File systems count times in steps of up to two seconds. */
const settledMs = 3_000;
const isModule = /\.(?:[cm]?js|m?ts|json)$/;
const leftAlone = new Set(['node_modules', '.git']);

/**
 * Loads plugins and determines their versions, so that results of one version are never used for another: the package's version for
 * its own plugins, for others a hash over the files of their folder, because plugins may share any of these. Gateways with the same
 * files have the same versions. Where files changed during the load, the version is unique.
 */
export async function withVersions<T>(folders: readonly string[], load: () => Promise<T>) {
  const texts: Texts = {};
  const before = await readVersions(folders, undefined, texts);
  const sources = shareSources(texts);
  if (sources) useSources(sources);
  const loaded = await load();
  const after = await readVersions(folders, before);
  return {
    loaded,
    sources,
    versionOf({ file, shipped }: Pick<Helper, 'file' | 'shipped'>): string {
      if (shipped) return packageVersion;
      const folder = folders.find((each) => isBelow(each, file)) ?? '';
      const version = before.get(folder)?.version;
      return version !== undefined && version === after.get(folder)?.version ? version : randomUUID();
    },
  };
}

interface FolderVersion {
  version: string;
  /** Names, sizes and times of the files: while these are the same, so is the version. */
  stamp: string;
  /** Whether the last change was long enough ago for a later one to have another time, on any file system. */
  isSettled: boolean;
}

/** Texts of modules by their URLs. */
type Texts = Record<string, string>;
type Versions = Map<string, FolderVersion | undefined>;

/** The folders' versions; notes the `texts` of their modules. Files of folders that are as `before` are not read again. */
async function readVersions(folders: readonly string[], before?: Versions, texts?: Texts): Promise<Versions> {
  const versions: Versions = new Map();
  for (const folder of folders) {
    if (folder === builtinPlugins) continue;
    // Loading reports what cannot be read.
    versions.set(folder, await readVersion(folder, before?.get(folder), texts).catch(() => undefined));
  }
  return versions;
}

async function readVersion(folder: string, before?: FolderVersion, texts?: Texts) {
  const files: string[] = [];
  await listFiles(folder, files);
  if (files.length > mostFiles) return undefined;
  const now = Date.now();
  const stats = await Promise.all(files.sort().map((file) => stat(file)));
  const stamps = stats.map(({ ino, size, mtimeMs, ctimeMs }, at) => [files[at], ino, size, mtimeMs, ctimeMs]);
  const stamp = JSON.stringify(stamps);
  if (before?.isSettled && before.stamp === stamp) return before;
  const isSettled = stats.every(({ mtimeMs, ctimeMs }) => Math.max(mtimeMs, ctimeMs) < now - settledMs);
  const lines: string[] = [];
  for (const [at, file] of files.entries()) {
    lines.push(`${relative(folder, file)}\n${await contentOf(file, stats[at] as Stats, texts)}\n`);
  }
  return { version: hash('sha256', lines.join(''), 'base64url'), stamp, isSettled };
}

async function listFiles(folder: string, files: string[], around: readonly string[] = []): Promise<void> {
  const inside = [...around, await realpath(folder)];
  for (const entry of await readdir(folder, { withFileTypes: true })) {
    if (leftAlone.has(entry.name) || files.length > mostFiles) continue;
    const path = join(folder, entry.name);
    // Links count as their targets.
    const kind = entry.isSymbolicLink() ? await stat(path).catch(() => entry) : entry;
    if (kind.isDirectory()) {
      // A link to a folder around it adds nothing.
      if (!isLinkLoop(await realpath(path), inside)) await listFiles(path, files, inside);
    } else if (kind.isFile()) files.push(path);
  }
}

/** Notes the text of a module besides. */
async function contentOf(file: string, { size, mtimeMs }: Stats, texts?: Texts): Promise<string> {
  if (size > mostBytes) return `${size} ${mtimeMs}`;
  const bytes = await readFile(file);
  // Node identifies modules by the targets of links.
  if (texts && isModule.test(file)) texts[pathToFileURL(await realpath(file)).href] = bytes.toString();
  return hash('sha256', bytes, 'base64url');
}

/** In memory that threads share, so that none needs a copy. */
function shareSources(texts: Texts): Uint8Array | undefined {
  if (Object.keys(texts).length === 0) return undefined;
  const bytes = new TextEncoder().encode(JSON.stringify(texts));
  const shared = new Uint8Array(new SharedArrayBuffer(bytes.byteLength));
  shared.set(bytes);
  return shared;
}
