// Runs the built tests: the quick ones, or with --long those named *.long.test.ts. Paths ("test/gateway/jobs", "test/imports.test.ts")
// choose from them; options are mocha's, and with them it is one mocha ("npm test -- --grep usage"), which looks through all tests.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { availableParallelism } from 'node:os';
import { dirname, join, posix, relative, resolve, sep } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));
const mocha = join(dirname(createRequire(import.meta.url).resolve('mocha/package.json')), 'bin', 'mocha.js');

/** Fewer files than this in a folder join those of the folder above it: each mocha loads the gateway anew. */
const filesWorthAProcess = 7;

/** A folder with more files than this is run in several processes, or it would be the last for minutes. */
const filesOfAProcess = 20;

/** Most tests wait half of their time for a process, a socket or a lock; more of them at once run into their time limits. */
const atOnce = 2 * availableParallelism();

/** A test that fails before it has closed what it opened would keep its mocha running for ever. */
const secondsToEnd = 60;

const children = new Set();

/** The built files that are asked for, as paths from dist/test. */
function choose(isWanted, paths) {
  const all = readdirSync(join(root, 'dist', 'test'), { recursive: true })
    .map((file) => file.replaceAll(sep, '/'))
    .filter((file) => file.endsWith('.test.js') && !file.startsWith('fixtures/'));
  if (paths.length === 0) return all.filter(isWanted);
  const chosen = paths.flatMap((path) => {
    const built = relative(join(root, 'test'), resolve(path)).replaceAll(sep, '/').replace(/\.ts$/, '.js');
    const found = all.filter((file) => file === built || (file.startsWith(`${built}/`) && isWanted(file)));
    if (found.length === 0) {
      console.error(`There are no tests at ${path}: name a folder or a file such as test/imports.test.ts.`);
      process.exit(2);
    }
    return found;
  });
  return [...new Set(chosen)];
}

/** Puts files together by folder; a folder with few of them goes to the one above. */
function byFolder(files) {
  const folders = new Map();
  for (const file of files) {
    const folder = posix.dirname(file);
    folders.set(folder, [...(folders.get(folder) ?? []), file]);
  }
  const deepestFirst = (a, b) => b.split('/').length - a.split('/').length;
  for (let folder of [...folders.keys()].sort(deepestFirst)) {
    while (folder !== '.' && folders.get(folder)?.length < filesWorthAProcess) {
      const above = posix.dirname(folder);
      folders.set(above, [...(folders.get(above) ?? []), ...folders.get(folder)]);
      folders.delete(folder);
      folder = above;
    }
  }
  return [...folders].flatMap(([folder, its]) => {
    const shares = Math.ceil(its.length / filesOfAProcess);
    return Array.from({ length: shares }, (_, share) => ({
      name: posix.join('test', folder) + (shares > 1 ? ` (${share + 1} of ${shares})` : ''),
      files: its.filter((_, index) => index % shares === share),
      size: its.length / shares,
    }));
  });
}

function startMocha(args, output) {
  const child = spawn(process.execPath, ['--enable-source-maps', mocha, ...args], {
    cwd: root,
    stdio: ['inherit', output, output],
  });
  children.add(child);
  child.once('close', () => children.delete(child));
  return child;
}

/** Runs the tests of one folder; ends its mocha where it goes on after it has reported how they went. */
async function run({ name, files }, options) {
  const began = Date.now();
  const child = startMocha([...options, ...files.map((file) => `dist/test/${file}`)], 'pipe');
  let output = '';
  let timer;
  const add = (chunk) => {
    output += chunk;
    if (timer || !/^\S* +\d+ passing/m.test(output.slice(-chunk.length - 50))) return;
    timer = setTimeout(() => {
      output += `\n  It ran on for ${secondsToEnd} s after its tests: one has left something open.\n`;
      child.kill('SIGKILL');
      child.stdout.destroy();
      child.stderr.destroy();
    }, secondsToEnd * 1_000);
  };
  for (const stream of [child.stdout, child.stderr]) stream.setEncoding('utf8').on('data', add);
  const [code] = await once(child, 'close');
  clearTimeout(timer);
  const count = (word) => Number(new RegExp(`^\\S* +(\\d+) ${word}`, 'm').exec(output)?.[1] ?? 0);
  const result = { name, output, failed: code !== 0, passing: count('passing'), pending: count('pending') };
  const seconds = Math.round((Date.now() - began) / 1000);
  const skipped = result.pending > 0 ? `, ${result.pending} skipped` : '';
  console.log(
    `${result.failed ? 'FAILED' : 'passed'}  ${name}: ${result.passing} passed${skipped}, ${seconds} s`,
  );
  return result;
}

/** What mocha reports of the tests that failed, which comes last; colours may stand before it. */
function failures(output) {
  const at = output.search(/^\S* +\d+ failing/m);
  return at < 0 ? output.slice(-5_000) : output.slice(at);
}

/** The longest time limit that a file sets: what may take the longest begins first. */
function longestLimit(file) {
  const limits = readFileSync(join(root, 'dist', 'test', file), 'utf8').matchAll(/timeout\(([\d_]+)/g);
  return Math.max(0, ...Array.from(limits, ([, ms]) => Number(ms.replaceAll('_', ''))));
}

/** Runs each folder's tests, the largest first, and prints what failed at the end, where one looks. */
async function runAll(parts, options) {
  const began = Date.now();
  const waiting = parts.sort((a, b) => b.size - a.size).values();
  const results = [];
  const work = async () => {
    for (const part of waiting) results.push(await run(part, options));
  };
  await Promise.all(Array.from({ length: atOnce }, work));

  const missing = results.flatMap(({ output }) => output.match(/(?<=skipped: )needs .*/g) ?? []);
  for (const line of new Set(missing)) console.log(`skipped: ${line}`);
  const failed = results.filter((result) => result.failed);
  for (const { name, output } of failed) console.log(`\n${name}:\n${failures(output)}`);
  const total = (key) => results.reduce((sum, result) => sum + result[key], 0);
  const where = failed.length > 0 ? `FAILED in ${failed.map(({ name }) => name).join(', ')}; ` : '';
  const seconds = Math.round((Date.now() - began) / 1000);
  console.log(`${where}${total('passing')} tests passed, ${total('pending')} skipped, in ${seconds} s`);
  return failed.length === 0;
}

// A terminal signals the children of Ctrl-C as well; SIGTERM reaches this process alone.
process.on('SIGINT', () => undefined);
process.on('SIGTERM', () => {
  for (const child of children) child.kill();
});

const given = process.argv.slice(2);
const long = given[0] === '--long';
const rest = long ? given.slice(1) : given;
const paths = rest.filter((arg) => arg.startsWith('test/') || (!arg.startsWith('-') && existsSync(arg)));
const options = rest.filter((arg) => !paths.includes(arg));
const isLong = (file) => file.endsWith('.long.test.js');
// What is long by its name needs no time limits of its own below two minutes.
const limitOf = (files) => (files.some(isLong) ? ['--timeout', '120000'] : []);
if (options.length > 0) {
  const files = choose(() => true, paths);
  const args = [...limitOf(files), ...options, ...files.map((file) => `dist/test/${file}`)];
  const [code] = await once(startMocha(args, 'inherit'), 'close');
  process.exitCode = code ?? 1;
} else {
  const files = choose((file) => isLong(file) === long, paths);
  const colour = process.stdout.isTTY ? ['--color'] : [];
  const each = () => files.map((file) => ({ name: `test/${file}`, files: [file], size: longestLimit(file) }));
  const parts = long ? each() : byFolder(files);
  const passed = await runAll(parts, [...limitOf(files), ...colour]);
  if (!passed) process.exitCode = 1;
}
