// Runs the tests that were built in two processes side by side: most of them wait for another process, a clock or a lock, and
// two cores can do more meanwhile. With arguments ("npm test -- --grep usage") it is one mocha that is given them.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join, sep } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));
const mocha = join(dirname(createRequire(import.meta.url).resolve('mocha/package.json')), 'bin', 'mocha.js');

/**
 * What may use PostgreSQL is in one half: its connections and its advisory lock are the same for all schemas, so tests in two
 * processes would wait for each other. To the other half no PostgreSQL answers, so that nobody puts such a test there.
 */
const withDatabase =
  /^gateway[/\\](cluster|commands|database|keys|limits|rolling-restart|site|usage)(\.test\.js$|[/\\])/;
const halves = [
  { name: 'with a database', has: (file) => withDatabase.test(file), env: {} },
  {
    name: 'without a database',
    has: (file) => !withDatabase.test(file),
    env: { TEST_DATABASE_URL: 'postgres://nobody@127.0.0.1:1/none' },
  },
];

const children = [];

/** Runs mocha; gives its exit code, and its output where that is not shown as it comes. */
async function run(args, output, env = {}) {
  const child = spawn(process.execPath, [mocha, ...args], {
    cwd: root,
    stdio: ['inherit', output, output],
    env: { ...process.env, ...env },
  });
  children.push(child);
  const kept = [];
  for (const stream of [child.stdout, child.stderr]) stream?.on('data', (chunk) => kept.push(chunk));
  const [code] = await once(child, 'close');
  return { code: code ?? 1, kept: Buffer.concat(kept) };
}

// A terminal tells the children of Ctrl-C as well, and nobody else tells them of SIGTERM.
process.on('SIGINT', () => undefined);
process.on('SIGTERM', () => {
  for (const child of children) child.kill();
});

const given = process.argv.slice(2);
if (given.length > 0) {
  process.exitCode = (await run(given, 'inherit')).code;
} else {
  const built = join(root, 'dist', 'test');
  const files = readdirSync(built, { recursive: true }).filter((file) => file.endsWith('.test.js'));
  const results = await Promise.all(
    halves.map(({ has, env }, at) => {
      const ignored = files
        .filter((file) => !has(file))
        .map((file) => `--ignore=dist/test/${file.replaceAll(sep, '/')}`);
      return run(ignored, at === 0 ? 'inherit' : 'pipe', env);
    }),
  );
  for (const [at, { code, kept }] of results.entries()) {
    process.stdout.write(kept);
    if (code !== 0) process.exitCode = code;
    results[at] = `${halves[at].name}: ${code === 0 ? 'passed' : `failed, see above (${code})`}`;
  }
  console.log(results.join('\n'));
}
