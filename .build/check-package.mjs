// Packs the package as it would be published, has it judged by publint and are-the-types-wrong, and uses it as somebody does who
// has nothing but the tarball: installed into an empty folder, started without a word, called. Ends with 1 where anything fails.
import assert from 'node:assert/strict';
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));
const folder = mkdtempSync(join(tmpdir(), 'package-'));

function run(command, args, cwd = root) {
  console.log(`> ${[command, ...args].join(' ')}`);
  execFileSync(command, args, { cwd, stdio: 'inherit' });
}

/** A helper that needs what only the tarball can bring: the public module, and TypeScript without its types. */
const plugin = `
import { defineHelper } from 'helper-gateway/helper';
const marks: string = '!';
export default defineHelper({
  summary: 'Shouts.',
  input: { type: 'object', properties: { text: { type: 'string', maxLength: 9 } }, required: ['text'] },
  handler: ({ text }) => ({ text: text.toUpperCase() + marks }),
});
`;

/** npm asks its user about scripts, and a later one will leave them out. */
function refuseScripts(installed) {
  const { packages } = JSON.parse(readFileSync(join(installed, 'node_modules/.package-lock.json')));
  const scripted = Object.keys(packages).filter((place) => packages[place].hasInstallScript);
  assert.deepEqual(scripted, [], 'no package runs anything where it is installed');
}

async function use(installed) {
  mkdirSync(join(installed, 'helpers'));
  writeFileSync(join(installed, 'helpers', 'shout.ts'), plugin);
  const gateway = spawn(join(installed, 'node_modules', '.bin', 'helper-gateway'), ['--json'], {
    cwd: installed,
    env: {
      PATH: process.env.PATH,
      PORT: '0',
      CONNECT_PORT: '0',
      HELPER_PLUGINS: join(installed, 'helpers'),
      HELPER_DRAIN_MS: '0',
      LOG_LEVEL: 'warn',
    },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const ended = once(gateway, 'exit');
  try {
    const lines = createInterface({ input: gateway.stdout });
    const [line] = await Promise.race([
      once(lines, 'line'),
      ended.then(([code]) => [`it ended with ${code}`]),
    ]);
    assert.match(line, /^\{"ok":true/);
    await call(JSON.parse(line).data, installed);
  } finally {
    gateway.kill('SIGTERM');
    const [code] = await ended;
    assert.equal(code, 0, 'the gateway ends when it is told to');
  }
}

async function call({ url, connect_url: site, first_key: key }, installed) {
  const ask = async (address, init = {}) => {
    const response = await fetch(address, { ...init, headers: { authorization: `Bearer ${key.key}` } });
    assert.equal(
      response.status,
      200,
      `${address} answers ${response.status}: ${await response.clone().text()}`,
    );
    return response;
  };
  await ask(`${url}/healthz`);
  const shouted = await (await ask(`${url}/shout?text=hello`)).json();
  assert.deepEqual(shouted.data, { text: 'HELLO!' });
  const form = new FormData();
  const picture = readFileSync(join(installed, 'node_modules/helper-gateway/plugins/media/example.jpg'));
  form.set('file', new Blob([picture]), 'example.jpg');
  form.set('text', 'Ada');
  const marked = await ask(`${url}/media/add-watermark`, { method: 'POST', body: form });
  assert.equal(marked.headers.get('content-type'), 'image/png');
  const page = await (await ask(`${site}/sign-in`)).text();
  const styles = /href="([^"]+\.css)"/.exec(page)?.[1];
  assert.ok(styles, 'the site has styles');
  await ask(new URL(styles, site));
}

try {
  run('npm', ['pack', '--silent', '--pack-destination', folder]);
  const tarball = join(folder, readdirSync(folder)[0]);
  run('npx', ['--yes', '--prefer-offline', 'publint@0.3.25', 'run', tarball, '--strict']);
  // An ES module alone: who requires it from CommonJS on an old resolution is not promised anything.
  run('npx', [
    '--yes',
    '--prefer-offline',
    '@arethetypeswrong/cli@0.18.5',
    tarball,
    '--profile=esm-only',
    '--no-emoji',
    '--format=ascii',
  ]);
  const installed = join(folder, 'empty');
  mkdirSync(installed);
  run('npm', ['install', '--prefer-offline', '--no-audit', '--no-fund', tarball], installed);
  refuseScripts(installed);
  await use(installed);
  console.log('the package works as it is packed');
} finally {
  rmSync(folder, { recursive: true });
}
