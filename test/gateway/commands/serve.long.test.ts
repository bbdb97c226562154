import { readFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect } from 'chai';
import { type Child, startChild, startedIn } from '../harness.js';
import { closed, holdCall, holding } from '../raw-client.js';
import { lives } from '../supervisor/world.js';

const root = fileURLToPath(new URL('../../../..', import.meta.url));

describe('a gateway that npm started', () => {
  let child: Child | undefined;
  let dataDir: string;

  beforeEach(async () => {
    dataDir = await mkdtemp(join(tmpdir(), 'helper-gateway-'));
  });
  afterEach(async () => {
    // The whole group, as npm killed alone would leave the gateway.
    if (groupLives()) process.kill(-pid(), 'SIGKILL');
    child = undefined;
    await rm(dataDir, { recursive: true });
  });

  const pid = () => child?.process.pid as number;

  const groupLives = () => child !== undefined && lives(-pid());

  const { scripts } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
  // As npm does it: signals go to the shell, and reach what it has become.
  const shell = ['sh', '-c', `${scripts.start} --json`];
  // Without "prestart": a build of the product alone would remove the tests, which are built into the same folder.
  const npm = ['npm', 'start', '--silent', '--ignore-scripts', '--', '--json'];

  for (const [how, [command = '', ...args], signal] of [
    ['SIGTERM', shell, () => process.kill(pid(), 'SIGTERM')],
    ['SIGINT and its echo', shell, () => [1, 2].map(() => process.kill(pid(), 'SIGINT'))],
    ['SIGTERM to npm, and leaves no process', npm, () => process.kill(pid(), 'SIGTERM')],
    ['a Ctrl-C, which all of the terminal get', npm, () => process.kill(-pid(), 'SIGINT')],
  ] as const) {
    it(`finishes the call under way at ${how}`, async () => {
      child = startChild(command, [...args], {
        cwd: root,
        detached: true,
        env: {
          ...holding,
          PATH: process.env.PATH,
          HOME: dataDir,
          HELPER_DATA_DIR: dataDir,
          PORT: '0',
          CONNECT_PORT: '0',
          HELPER_DRAIN_MS: '0',
          LOG_LEVEL: 'silent',
        },
      });
      const { until, stdout, ended } = child;
      const { url, first_key } = await until(() => startedIn(stdout()));
      const release = await holdCall(url, first_key?.key ?? '', dataDir);
      signal();
      await closed(url);
      expect((await release()).status).to.equal(200);
      expect(await ended).to.equal(0);
      expect(groupLives()).to.equal(false);
    });
  }
});
