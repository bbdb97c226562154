import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { expect } from 'chai';
import { fixture } from '../../fixtures.js';

const root = fileURLToPath(new URL('../../../..', import.meta.url));

describe('a gateway that npm started', () => {
  let child: ChildProcess;
  let dataDir: string;
  let url: string;
  let key: string;

  beforeEach(async () => {
    dataDir = await mkdtemp(join(tmpdir(), 'helper-gateway-'));
  });

  afterEach(async () => {
    // The whole group, as npm killed alone would leave the gateway.
    if (groupLives()) process.kill(-(child.pid as number), 'SIGKILL');
    await rm(dataDir, { recursive: true });
  });

  async function start(command: string, args: string[]): Promise<void> {
    child = spawn(command, args, {
      cwd: root,
      detached: true,
      stdio: ['ignore', 'pipe', 'inherit'],
      env: {
        PATH: process.env.PATH,
        HOME: dataDir,
        HELPER_DATA_DIR: dataDir,
        HELPER_PLUGINS: fixture('plugins/pool'),
        PORT: '0',
        CONNECT_PORT: '0',
        HELPER_DRAIN_MS: '0',
        LOG_LEVEL: 'silent',
      },
    });
    const [line] = await once(child.stdout as NodeJS.ReadableStream, 'data');
    const { data } = JSON.parse(String(line));
    url = data.url;
    key = data.first_key.key;
  }

  function groupLives(): boolean {
    try {
      return process.kill(-(child.pid as number), 0);
    } catch {
      return false;
    }
  }

  async function finishesCallAt(signal: () => void): Promise<void> {
    const call = fetch(`${url}/sleep?ms=1000&ak=${key}`);
    await sleep(300);
    signal();
    expect((await call).status).to.equal(200);
    expect(child.exitCode ?? (await once(child, 'exit'))[0]).to.equal(0);
    expect(groupLives()).to.equal(false);
  }

  for (const signals of [['SIGTERM'], ['SIGINT', 'SIGINT']] as const) {
    it(`finishes the call under way at ${signals.join(' and its echo ')}`, async () => {
      const { scripts } = JSON.parse(await readFile(join(root, 'package.json'), 'utf8'));
      // As npm does it: signals go to the shell, and reach whom it has become.
      await start('sh', ['-c', `${scripts.start} --json`]);
      await finishesCallAt(() => {
        for (const signal of signals) child.kill(signal);
      });
    });
  }

  // Without "prestart": a build of the product alone would remove the tests, which are built into the same folder.
  const npmStart = ['start', '--silent', '--ignore-scripts', '--', '--json'];

  it('finishes the call under way at SIGTERM to npm, and leaves no process', async () => {
    await start('npm', npmStart);
    await finishesCallAt(() => child.kill('SIGTERM'));
  });

  it('finishes the call under way at a Ctrl-C, which all of the terminal get', async () => {
    await start('npm', npmStart);
    await finishesCallAt(() => process.kill(-(child.pid as number), 'SIGINT'));
  });
});
