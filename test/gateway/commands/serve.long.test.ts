import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect } from 'chai';
import { type Child, startChild, startedIn } from '../harness.js';
import { closed, holdCall, holding } from '../raw-client.js';

const root = fileURLToPath(new URL('../../../..', import.meta.url));

describe('a gateway that npm started', () => {
  let child: Child | undefined;
  let dataDir: string;

  beforeEach(async () => {
    dataDir = await mkdtemp(join(tmpdir(), 'helper-gateway-'));
  });

  afterEach(async () => {
    // The whole group, as npm killed alone would leave the gateway.
    if (child && groupLives(child)) process.kill(-pidOf(child), 'SIGKILL');
    child = undefined;
    await rm(dataDir, { recursive: true });
  });

  function start(command: string, args: string[]): Child {
    child = startChild(command, args, {
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
    return child;
  }

  function pidOf(child: Child): number {
    return child.process.pid as number;
  }

  function groupLives(child: Child): boolean {
    try {
      return process.kill(-pidOf(child), 0);
    } catch {
      return false;
    }
  }

  async function finishesCallAt(signal: (pid: number) => void, child: Child): Promise<void> {
    const { url, first_key } = await child.until(() => startedIn(child.stdout()));
    const release = await holdCall(url, first_key?.key ?? '', dataDir);
    signal(pidOf(child));
    await closed(url);
    expect((await release()).status).to.equal(200);
    expect(await child.ended).to.equal(0);
    expect(groupLives(child)).to.equal(false);
  }

  for (const signals of [['SIGTERM'], ['SIGINT', 'SIGINT']] as const) {
    it(`finishes the call under way at ${signals.join(' and its echo ')}`, async () => {
      const { scripts } = JSON.parse(await readFile(join(root, 'package.json'), 'utf8'));
      // As npm does it: signals go to the shell, and reach whom it has become.
      await finishesCallAt(
        (pid) => {
          for (const signal of signals) process.kill(pid, signal);
        },
        start('sh', ['-c', `${scripts.start} --json`]),
      );
    });
  }

  // Without "prestart": a build of the product alone would remove the tests, which are built into the same folder.
  const npmStart = ['start', '--silent', '--ignore-scripts', '--', '--json'];

  it('finishes the call under way at SIGTERM to npm, and leaves no process', async () => {
    await finishesCallAt((pid) => process.kill(pid, 'SIGTERM'), start('npm', npmStart));
  });

  it('finishes the call under way at a Ctrl-C, which all of the terminal get', async () => {
    await finishesCallAt((pid) => process.kill(-pid, 'SIGINT'), start('npm', npmStart));
  });
});
