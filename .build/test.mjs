// Runs the tests that were built in parts, five at a time: most of them wait for another process, a clock or a lock, and two cores
// can do more meanwhile. With arguments ("npm test -- --grep usage") it is one mocha that is given them.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join, sep } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));
const mocha = join(dirname(createRequire(import.meta.url).resolve('mocha/package.json')), 'bin', 'mocha.js');

// To all but one part no PostgreSQL answers, so that nobody puts a test there that needs one.
const noDatabase = { TEST_DATABASE_URL: 'postgres://nobody@127.0.0.1:1/none' };

/**
 * What may use PostgreSQL or Redis is in one part: their connections and PostgreSQL's advisory lock are the same for all schemas, so
 * tests in two processes would wait for each other. The others are such that all take about as long: the slowest is how long the tests
 * take. A file belongs to the first part that takes it.
 */
const parts = [
  {
    name: 'with a database',
    takes:
      /^gateway[/\\](cluster|hosts|limits|migrations|signing-gateways|(database|jobs|keys|limits|usage)[/\\].*|site[/\\]accounts([/\\].*)?|commands[/\\](keys|no-database))\.test\.js$/,
    env: {},
  },
  {
    name: 'of the site, of browsers and of what authors are given',
    takes:
      /^gateway[/\\](journey|site[/\\].*|docs[/\\](.*[/\\]browser|openapi[/\\](client|redocly))|commands[/\\](completion|plugins)[/\\].*)\.test\.js$/,
    env: noDatabase,
  },
  {
    name: 'of processes',
    takes: /^gateway[/\\](process|drain|inline|rolling-restart|(commands|processes)[/\\].*)\.test\.js$/,
    env: noDatabase,
  },
  // There are hundreds of reloads where all are asked for.
  {
    name: 'of attacks, reloads and the pool',
    takes: /^gateway[/\\](attack|(pool|media)\.test|pipeline|http[/\\]server|helpers[/\\]reload)/,
    env: noDatabase,
  },
  { name: 'of schemas and most of the gateway', takes: /^(gateway|schemas)[/\\]/, env: noDatabase },
  { name: 'all others', takes: /./, env: noDatabase },
];

/** More would make tests wait for a core until they take it for a fault. */
const atOnce = 5;

/** What no version of Node changes. Who has it tested on one may leave it out on another: TEST_SAME_EVERYWHERE=skip. */
const sameEverywhere =
  /^(deploy[/\\]|(imports|packages?|readme)\.test|gateway[/\\](site[/\\](axe|browser|preview-browser)|docs[/\\](.*[/\\]browser|openapi[/\\](client|redocly))|signing[/\\]snippets|commands[/\\]completion[/\\]))/;

/**
 * What takes minutes of a machine: processes killed and started over and over, browsers, hundreds of reloads, whole worlds of hosts. CI
 * runs it, as does TEST_LONG=run; a change is first held against the rest.
 */
const long =
  /^((examples|package)\.test|pool[/\\]lost-setup|gateway[/\\]((cluster|drain|hosts|journey|process|reuse-worlds|rolling-restart|signed-answers|signing-gateways|storm|surfaces)\.test|processes[/\\]|jobs[/\\](kill|work|queue[/\\]many)\.|keys[/\\]kill|helpers[/\\]reload-(faults|many)|commands[/\\](dev|dev-surfaces|signals|completion[/\\]shells|plugins[/\\](check|new|test))\.|site[/\\](axe|browser|preview-browser)|docs[/\\].*[/\\]browser))/;

/** A test that fails before it has closed what it opened would keep mocha up for ever, and with it whoever waits for the outcome. */
const secondsToEnd = 60;

const children = [];

function start(args, output, env = {}) {
  const child = spawn(process.execPath, ['--enable-source-maps', mocha, ...args], {
    cwd: root,
    stdio: ['inherit', output, output],
    env: { ...process.env, ...env },
  });
  children.push(child);
  return child;
}

/** Ends a mocha that goes on after it has said how its tests ended. */
function endAfterTests(child, said) {
  const overdue = { timer: undefined };
  let last = '';
  child.stdout.on('data', (chunk) => {
    last = (last + chunk).slice(-chunk.length - 50);
    if (!/^\S* +\d+ passing/m.test(last)) return;
    overdue.timer ??= setTimeout(() => {
      said.push(
        Buffer.from(`\n  It went on ${secondsToEnd} s after its tests: one has left something open.\n`),
      );
      child.kill('SIGKILL');
      child.stdout.destroy();
      child.stderr.destroy();
    }, secondsToEnd * 1_000);
  });
  return overdue;
}

/** Runs mocha; gives its exit code and what it said, which is shown as it comes where `shown` says so. */
async function run(args, env, shown) {
  const began = Date.now();
  const child = start(process.stdout.isTTY ? ['--color', ...args] : args, 'pipe', env);
  const said = [];
  for (const name of ['stdout', 'stderr']) {
    child[name].on('data', (chunk) => {
      said.push(chunk);
      if (shown) process[name].write(chunk);
    });
  }
  const overdue = endAfterTests(child, said);
  const [code] = await once(child, 'close');
  clearTimeout(overdue.timer);
  const seconds = Math.round((Date.now() - began) / 1000);
  return { code: code ?? 1, said: Buffer.concat(said).toString(), seconds };
}

/** What mocha says of the tests that failed, which comes last; colours may stand before it. */
function failures(said) {
  const at = said.search(/^\S* +\d+ failing/m);
  return at < 0 ? said.slice(-5_000) : said.slice(at);
}

// A terminal tells the children of Ctrl-C as well, and nobody else tells them of SIGTERM.
process.on('SIGINT', () => undefined);
process.on('SIGTERM', () => {
  for (const child of children) child.kill();
});

const given = process.argv.slice(2);
if (given.length > 0) {
  const [code] = await once(start(given, 'inherit'), 'close');
  process.exitCode = code ?? 1;
} else {
  const built = join(root, 'dist', 'test');
  const files = readdirSync(built, { recursive: true }).filter((file) => file.endsWith('.test.js'));
  const { CI_REQUIRE_ALL, TEST_LONG, TEST_SAME_EVERYWHERE } = process.env;
  const none = /(?!)/;
  const leftOut = CI_REQUIRE_ALL === '1' || TEST_LONG === 'run' ? none : long;
  const skipped = TEST_SAME_EVERYWHERE === 'skip' ? sameEverywhere : none;
  const isSkipped = (file) => leftOut.test(file) || skipped.test(file);
  const partOf = (file) => (isSkipped(file) ? undefined : parts.find(({ takes }) => takes.test(file)));
  const results = [];
  const waiting = parts.entries();
  const takeTurns = async () => {
    for (const [at, part] of waiting) {
      const ignored = files
        .filter((file) => partOf(file) !== part)
        .map((file) => `--ignore=dist/test/${file.replaceAll(sep, '/')}`);
      results[at] = await run(ignored, part.env, at === 0);
    }
  };
  await Promise.all(Array.from({ length: atOnce }, takeTurns));
  for (const { said } of results.slice(1)) process.stdout.write(said);
  // Said again at the end, where one looks: two thousand lines may stand between.
  for (const [at, { code, said }] of results.entries()) {
    if (code === 0) continue;
    process.exitCode = code;
    console.log(`${parts[at].name}:\n${failures(said)}`);
  }
  for (const [at, { code, seconds }] of results.entries()) {
    console.log(`${parts[at].name}: ${code === 0 ? 'passed' : `failed (${code})`}, ${seconds} s`);
  }
  const left = files.filter((file) => leftOut.test(file)).length;
  if (left > 0)
    console.log(
      `${left} files of tests that take long were left out: "TEST_LONG=run npm test" runs them too`,
    );
}
