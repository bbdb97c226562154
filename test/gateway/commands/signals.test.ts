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

  beforeEach(async function () {
    this.timeout(20_000);
    const { scripts } = JSON.parse(await readFile(join(root, 'package.json'), 'utf8'));
    dataDir = await mkdtemp(join(tmpdir(), 'helper-gateway-'));
    // As npm does it: signals go to the shell, and reach whom it has become.
    child = spawn('sh', ['-c', `${scripts.start} --json`], {
      cwd: root,
      stdio: ['ignore', 'pipe', 'inherit'],
      env: {
        PATH: process.env.PATH,
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
  });

  afterEach(async () => {
    child.kill('SIGKILL');
    await rm(dataDir, { recursive: true });
  });

  for (const signals of [['SIGTERM'], ['SIGINT', 'SIGINT']] as const) {
    it(`finishes the call under way at ${signals.join(' and its echo ')}`, async function () {
      this.timeout(20_000);
      const call = fetch(`${url}/sleep?ms=1000&ak=${key}`);
      await sleep(300);
      for (const signal of signals) child.kill(signal);
      expect((await call).status).to.equal(200);
      expect(child.exitCode ?? (await once(child, 'exit'))[0]).to.equal(0);
    });
  }
});
