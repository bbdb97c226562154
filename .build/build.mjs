// Bundles the product into dist/bundle, with the licences of what it takes in, and writes the types of its public modules into
// dist/types; types are checked by "npm run check". It never empties dist/bundle, unless for a package (--pack): a running gateway may
// yet load chunks from it. With a project ("node .build/build.mjs test") it also compiles that, one file a module, into dist/.
// Usage: node .build/build.mjs [--pack | project]
import '../gateway/commands/require-node.cjs';
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join, relative, sep } from 'node:path';
import { fileURLToPath } from 'node:url';
import { copyAssets } from './copy-assets.mjs';

const root = fileURLToPath(new URL('..', import.meta.url));
const output = join(root, 'dist', 'bundle');
const types = join(root, 'dist', 'types');
/** What the last build was made of, what it has written, and which modules each chunk holds. */
const noteFile = join(output, 'built.json');
const sources = ['gateway', 'plugins', 'pool', 'schemas'];
const publicModules = ['gateway/helper.ts', 'gateway/testing.ts'];

/** What is started by its name: by a URL beside the module that starts it, or by launch.cjs. */
const entries = {
  cli: 'gateway/cli.ts',
  helper: 'gateway/helper.ts',
  'inspect-worker': 'gateway/plugins/inspect-worker.ts',
  'password-worker': 'gateway/site/accounts/password-worker.ts',
  'plugin-hooks-thread': 'pool/plugin-hooks-thread.ts',
  register: 'gateway/testing/register.ts',
  'sqlite-thread': 'gateway/database/sqlite-thread.ts',
  supervised: 'gateway/commands/supervised.ts',
  testing: 'gateway/testing.ts',
  'watchdog-thread': 'pool/watchdog-thread.ts',
  worker: 'pool/worker.ts',
};

/** Packages that stay outside: native ones, WebAssembly, those that start files of their own, and large ones that few ever need. */
const outside = /^(@resvg|@swc|@zxcvbn-ts|jimp|libsql|piscina|sharp)(\/|$)/;

const project = process.argv[2];
const isForPackage = project === '--pack';
if (isForPackage) rmSync(output, { recursive: true, force: true });
if (isStale()) await bundle();
if (project && !isForPackage) compile(project);

// "npm start" begins with the shell's own "exec", because npm gives signals to its shell, and not every sh becomes its last
// command by itself. Windows' cmd has neither that word nor those signals: there it is a command that runs the rest.
if (process.platform === 'win32') writeFileSync(join(root, 'node_modules', '.bin', 'exec.cmd'), '@%*\r\n');

/** Files below a folder, by their paths from the root. */
function filesOf(folder) {
  if (!existsSync(join(root, folder))) return [];
  return readdirSync(join(root, folder), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map(({ parentPath, name }) => portable(relative(root, join(parentPath, name))));
}

function portable(path) {
  return path.split(sep).join('/');
}

function sourceFiles() {
  return sources.flatMap(filesOf).filter((file) => /\.tsx?$/.test(file) && !file.includes('/wasm/'));
}

function readNote() {
  try {
    return JSON.parse(readFileSync(noteFile, 'utf8'));
  } catch {
    return { inputs: [], files: [] };
  }
}

/** All that the bundle is made of. */
function inputFiles() {
  return [
    ...sourceFiles(),
    'package-lock.json',
    ...filesOf('.build').filter((file) => file.endsWith('.mjs')),
  ];
}

/** Whether anything is newer than the bundle, or was added or removed. */
function isStale() {
  if (!existsSync(noteFile)) return true;
  const built = statSync(noteFile).mtimeMs;
  const inputs = inputFiles();
  return (
    readNote().inputs.join() !== inputs.join() ||
    inputs.some((file) => statSync(join(root, file)).mtimeMs > built)
  );
}

async function bundle() {
  const { rolldown } = await installed('rolldown');
  const before = readNote();
  const plugins = sourceFiles().filter((file) => /^plugins\/.*\/index\.ts$/.test(file));
  const build = await rolldown({
    cwd: root,
    platform: 'node',
    tsconfig: false,
    input: {
      ...entries,
      ...Object.fromEntries(plugins.map((file) => [file.replace(/\.tsx?$/, ''), file])),
    },
    external: (name) => name.startsWith('helper-gateway/') || outside.test(name),
    transform: { jsx: { runtime: 'automatic', importSource: 'preact' } },
    // A package of Koa's has one, with nothing in it that comes from outside.
    checks: { eval: false },
  });
  const { output: written } = await build.write({
    dir: output,
    format: 'esm',
    entryFileNames: '[name].js',
    chunkFileNames: '[name]-[hash].js',
    sourcemap: true,
    sourcemapExcludeSources: true,
    // Names stay, for stacks; the maps lead to their lines.
    minify: { compress: false, mangle: false, codegen: { removeWhitespace: true } },
  });
  await build.close();
  const chunks = written.filter(({ type }) => type === 'chunk');
  // No line of ours is in these.
  const foreign = chunks.filter(({ moduleIds }) => moduleIds.every((id) => id.includes('node_modules')));
  const dropped = foreign.map(({ fileName }) => `${fileName}.map`);
  for (const file of dropped) rmSync(join(output, file), { force: true });
  writeFileSync(join(output, 'LICENSES.txt'), licencesOf(chunks.flatMap(({ moduleIds }) => moduleIds)));
  copyAssets(root);
  await writeTypes();
  const files = written.map(({ fileName }) => fileName).filter((file) => !dropped.includes(file));
  removeGone(files, before.files);
  const modules = Object.fromEntries(
    chunks.map(({ fileName, moduleIds }) => [fileName, moduleIds.map((id) => portable(relative(root, id)))]),
  );
  writeFileSync(noteFile, JSON.stringify({ inputs: inputFiles(), files, modules }));
}

/** Keeps what the build before has written, for a gateway that still runs from it; but a plugin that is gone must not be served. */
function removeGone(files, filesBefore) {
  const kept = new Set([...files, ...filesBefore, 'LICENSES.txt', 'built.json']);
  for (const path of filesOf('dist/bundle')) {
    const file = path.slice('dist/bundle/'.length);
    const isGone = file.startsWith('plugins/') ? !files.includes(file) : !kept.has(file);
    if (isGone) rmSync(join(output, file));
  }
}

/** The licences of the packages of these modules, each with its package's name and version. */
function licencesOf(modules) {
  const folders = new Set(
    modules.map((id) => /^.*[\\/]node_modules[\\/](?:@[^\\/]+[\\/])?[^\\/]+/.exec(id)?.[0]),
  );
  const texts = [...folders]
    .filter((folder) => folder && existsSync(join(folder, 'package.json')))
    .map((folder) => {
      const { name, version, license } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'));
      const files = readdirSync(folder).filter((file) => /^(licen[cs]e|copying|notice)/i.test(file));
      const texts = files.map((file) => readFileSync(join(folder, file), 'utf8').trim());
      return [`${name} ${version}: ${license}`, ...texts].join('\n\n');
    });
  return `dist/bundle contains parts of these packages.\n\n${texts.sort().join(`\n\n${'-'.repeat(80)}\n\n`)}\n`;
}

/** The declarations of the public modules and of what they name, each from its own source. */
async function writeTypes() {
  const { isolatedDeclarationSync } = await installed('rolldown/experimental');
  rmSync(types, { recursive: true, force: true });
  const files = new Set(publicModules);
  for (const file of files) {
    const { code, errors } = isolatedDeclarationSync(file, readFileSync(join(root, file), 'utf8'));
    if (errors.length > 0) {
      throw new Error(
        `${file}: ${errors.map(({ message, codeframe }) => `${message}\n${codeframe}`).join('\n')}`,
      );
    }
    const target = join(types, file.replace(/\.tsx?$/, '.d.ts'));
    mkdirSync(dirname(target), { recursive: true });
    writeFileSync(target, code);
    for (const [, name] of code.matchAll(/(?:from |import\()["'](\.[^"']+)\.js["']/g)) {
      const path = portable(join(dirname(file), name));
      files.add(existsSync(join(root, `${path}.ts`)) ? `${path}.ts` : `${path}.tsx`);
    }
  }
}

/** Compiles, and removes what is left of sources that are gone. */
function compile(name) {
  const tsc = join(dirname(createRequire(import.meta.url).resolve('typescript/package.json')), 'bin', 'tsc');
  const { status } = spawnSync(process.execPath, [tsc, '-p', name], { cwd: root, stdio: 'inherit' });
  if (status !== 0) process.exit(status || 1);
  for (const file of [...sources, 'test'].flatMap((folder) => filesOf(`dist/${folder}`))) {
    const built = /^dist\/(.*?)(?:\.d\.ts|\.js|\.js\.map)$/.exec(file);
    const exists = built && ['.ts', '.tsx'].some((ending) => existsSync(join(root, built[1] + ending)));
    if (built && !exists) rmSync(join(root, file));
  }
}

/** Imports a package of the build. Where it is left out, npm's own script after an installation goes on without a build. */
async function installed(name) {
  try {
    return await import(name);
  } catch {
    console.error(
      'helper-gateway is not built: the build needs the development packages. Run "npm ci --include=dev", or take a dist/ that was built elsewhere.',
    );
    process.exit(process.env.npm_lifecycle_event === 'dependencies' ? 0 : 1);
  }
}
